package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/spf13/cobra"
)

func (a *app) selftestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "selftest [--json] [DIR]",
		Short: "Does it work on this machine and in this directory? Tried with real processes",
		Long: `selftest makes a directory of its own below DIR (default: the system's temporary
directory), tries everything out there with child processes that it really kills
and stops, and removes the directory again. One line for each step says what was
seen. It exits with 1 when anything is off. A step that this system has no means
for yet is skipped, and says so.

With --json every step is one object with step, status (ok, off, skipped, info)
and seen; the last one has step "summary".`,
		Example: `  probate selftest /var/lib/app`,
		Args:    operands("[DIR]"),
	}
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		dir := os.TempDir()
		if len(args) > 0 {
			dir = args[0]
		}
		if dir == "" {
			return &usageError{what: "DIR is empty", verb: "selftest"}
		}
		return a.selftest(ctx, dir)
	})
	return cmd
}

// Statuses of a step.
const (
	stepOK      = "ok"
	stepOff     = "off"
	stepSkipped = "skipped"
	stepInfo    = "info"
)

// step is one line of the self-test.
type step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
	Seen   string `json:"seen"`
	Note   string `json:"note,omitempty"`
}

// selftestTime bounds everything: a child that does not answer is killed then.
const selftestTime = time.Minute

func (a *app) selftest(ctx context.Context, parent string) error {
	ctx, signals := relaySignals(ctx)
	defer signals.stop()
	ctx, cancel := context.WithTimeoutCause(ctx, selftestTime,
		fmt.Errorf("not done after %v", selftestTime))
	defer cancel()
	dir, err := os.MkdirTemp(parent, "probate-selftest-")
	if err != nil {
		return &lockfile.Error{Op: "selftest", Path: cmp.Or(parent, os.TempDir()),
			Step: "make a directory to try in", Err: err,
			Next: "name a directory that exists and may be written to: probate selftest DIR"}
	}
	t := &trial{ctx: ctx, dir: dir, state: dir + string(os.PathSeparator) + "state"}
	failed := t.steps(func(s step) { a.printStep(s) })
	t.endChildren()
	if err := os.RemoveAll(dir); err != nil {
		a.printStep(step{"clean up", stepOff, err.Error(), ""})
		failed = append(failed, "clean up")
	}
	if err := signals.or(context.Cause(ctx)); err != nil && len(failed) > 0 {
		if _, ok := errors.AsType[*codeError](err); ok {
			return err
		}
	}
	summary := step{Step: "summary", Status: stepOK, Seen: "This directory is safe to use."}
	switch {
	case len(failed) > 0:
		summary.Status = stepOff
		summary.Seen = "Something is off here: " + strings.Join(failed, ", ") + "."
	case len(t.skipped) > 0:
		summary.Status = stepSkipped
		summary.Seen = "Locks hold here. Not tried: " + strings.Join(t.skipped, ", ") + "."
	}
	if a.json {
		writeJSON(a.out, summary)
	} else {
		fmt.Fprintln(a.out, summary.Seen)
	}
	if len(failed) > 0 {
		return exitWith(exitFailure)
	}
	return nil
}

func (a *app) printStep(s step) {
	if a.json {
		writeJSON(a.out, s)
		return
	}
	line := fmt.Sprintf("%-11s %s", s.Step, escape(s.Seen))
	if s.Status != stepInfo {
		line += strings.Repeat(" ", max(84-utf8.RuneCountInString(line), 1)) + s.Status
	}
	if s.Note != "" {
		line += "   " + escape(s.Note)
	}
	fmt.Fprintln(a.out, line)
}

// steps does one step after another and returns the names of those that failed. A step that cannot
// go on ends the test: the ones behind it build on it.
func (t *trial) steps(show func(step)) (failed []string) {
	for _, s := range []struct {
		name string
		do   func() (step, error)
	}{
		{"machine", t.machine},
		{"filesystem", t.filesystem},
		{"hold", t.hold},
		{"crash", t.crash},
		{"pause", t.pause},
		{"late write", t.lateWrite},
		{"fence", t.fence},
		{"log", t.log},
		{"leftovers", t.leftovers},
	} {
		done, err := s.do()
		done.Step = s.name
		if err != nil {
			if cause := context.Cause(t.ctx); cause != nil {
				err = fmt.Errorf("%w (%w)", cause, err)
			}
			done.Status = stepOff
			done.Seen = strings.TrimPrefix(done.Seen+"; "+err.Error(), "; ")
		}
		show(done)
		switch done.Status {
		case stepOff:
			failed = append(failed, s.name)
		case stepSkipped:
			t.skipped = append(t.skipped, s.name)
		}
		if err != nil {
			break
		}
	}
	return failed
}

func (t *trial) machine() (step, error) {
	h := probe.Real().Host()
	said := func(name string, known bool, yes, no string) string {
		return name + " " + choose(known, yes, no)
	}
	system := h.OS
	if h.Kernel.Known {
		system += " " + h.Kernel.Value
	}
	parts := []string{system, said("boot", h.Boot.ID.Known, "genuine", "unknown")}
	if h.OS == "linux" {
		initial := h.Namespaces.PIDInitial
		parts = append(
			parts,
			said(
				"pid namespace",
				initial.Known,
				choose(initial.Value, "initial", "nested"),
				"unknown",
			),
			said("/proc", h.ProcFS.Known, "trustworthy", "not trustworthy"),
		)
	}
	parts = append(parts, said("machine id", h.Machine.ID.Known, "present", "absent"))
	return step{Status: stepInfo, Seen: strings.Join(parts, ", ")}, nil
}

func choose(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func (t *trial) filesystem() (step, error) {
	c, err := lockfile.CapabilitiesOf(t.dir, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	t.caps = c
	seen := strings.Join([]string{
		c.Filesystem + ", " + choose(c.Local, "local", "not known to be local"),
		choose(c.OneStep, "publishes", "does not publish") + " in one step (" + c.Publish + ")",
		choose(c.Exchange, "exchange", "no exchange"),
		choose(c.KernelLock != "none", "kernel locks ("+c.KernelLock+")", "no kernel locks"),
		choose(c.Flush, "flushes", "does not flush"),
	}, "; ")
	status := stepInfo
	if c.KernelLock == "none" || !c.OneStep && runtime.GOOS == "linux" || !c.Flush {
		status = stepOff
	}
	return step{Status: status, Seen: seen}, nil
}
