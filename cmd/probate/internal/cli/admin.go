package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/spf13/cobra"
)

func (a *app) recoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover [--json] STATE",
		Short: "Take an abandoned lock over and release it, if its owner is provably gone",
		Long: `recover does by hand what the next acquire would do by itself: where the owner is
provably gone it takes the lock over, raises the fence, writes the recovery log,
and releases the lock. It exits with 0 when that was done or the lock was free,
10 when the owner lives, 12 when it cannot be judged. It never waits for an owner.

With --json it prints {"result": "recovered" or "free", "state": …, and for
recovered finding, owner, lockID, fence}.`,
		Example: `  probate recover state.json`,
		Args:    operands("STATE"),
	}
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		state := args[0]
		if err := checkState("recover", state); err != nil {
			return err
		}
		ctx, signals := relaySignals(ctx)
		defer signals.stop()
		rec, err := lockfile.Recover(ctx, state, a.options())
		if err != nil {
			return signals.or(refused(state, err))
		}
		return a.recovered(state, rec)
	})
	return cmd
}

func (a *app) recovered(state string, rec *lockfile.Recovered) error {
	type result struct {
		Result string `json:"result"`
		State  string `json:"state"`
		*lockfile.Recovered
	}
	switch {
	case a.json && rec == nil:
		return writeJSON(a.out, result{Result: "free", State: fullName(state)})
	case a.json:
		return writeJSON(a.out, result{"recovered", rec.State, rec})
	case rec == nil:
		fmt.Fprintf(a.out, "%s  free: nothing to recover\n", escape(state))
	default:
		fmt.Fprintf(a.out, "%s  recovered: %s\n", escape(state), escape(rec.Finding.Sentence))
		fmt.Fprintf(a.out, "  fence     %d\n", rec.Fence)
	}
	return nil
}

func (a *app) breakCommand() *cobra.Command {
	var req lockfile.BreakRequest
	cmd := &cobra.Command{
		Use:   "break --lock-id ID --reason TEXT [--even-if-alive] STATE",
		Short: "Take a lock away from its owner; a person takes responsibility",
		Long: `break is for locks that nobody can judge: a person who knows that nothing uses
STATE takes responsibility. It needs the lock id that inspect showed and a
reason; both go into the recovery log, with who did it. If the lock has changed
since, nothing is done (exit code 16). A living owner is refused (10) without
--even-if-alive; one that is broken all the same is fenced: its next write is
refused. The fence rises, and the lock is free afterwards.`,
		Example: `  probate inspect state.json        # shows the lock id where a person must decide
  probate break --lock-id 9f2c41d07be3a655 --reason "build-3 was scrapped" state.json`,
		Args: operands("STATE"),
	}
	cmd.Flags().StringVar(&req.LockID, "lock-id", "", "the lock to break, as inspect shows it")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the recovery log")
	cmd.Flags().BoolVar(&req.EvenIfAlive, "even-if-alive", false, "also when the owner lives")
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		state := args[0]
		switch {
		case checkState("break", state) != nil:
			return checkState("break", state)
		case req.LockID == "":
			return &usageError{
				what: "--lock-id is missing: it names the lock that you saw (probate inspect " +
					operand(state) + ")",
				verb: "break",
			}
		case strings.TrimSpace(req.Reason) == "":
			return &usageError{
				what: "--reason is missing: it goes into the recovery log",
				verb: "break",
			}
		case !nextstep.IsReason(req.Reason):
			return &usageError{
				what: "--reason " + quote(req.Reason) + " does not say why (the log keeps it): " +
					"put your words there, such as " + quote("build-3 was scrapped"),
				verb: "break",
			}
		}
		ctx, signals := relaySignals(ctx)
		defer signals.stop()
		req.By = userName()
		done, err := lockfile.Break(ctx, state, req, a.options())
		if err != nil {
			return signals.or(a.notBroken(state, req, err))
		}
		return a.broken(state, done)
	})
	return cmd
}

// notBroken adds the next step to a refusal of break.
func (a *app) notBroken(state string, req lockfile.BreakRequest, err error) error {
	err = refused(state, err)
	if r, ok := errors.AsType[*refusal](err); ok && r.code == exitHeld && r.next == nil {
		r.next = []string{
			"see who it is: " + nextFor(r.in, state).Who(probe.Real(), shell.Here) +
				". If it may be broken although it lives:",
			"probate break --lock-id " + quote(req.LockID) + " --reason " + quote(req.Reason) +
				" --even-if-alive " + operand(state),
		}
	}
	return err
}

func (a *app) broken(state string, done *lockfile.Broken) error {
	if a.json {
		return writeJSON(a.out, struct {
			Result string `json:"result"`
			*lockfile.Broken
		}{"broken", done})
	}
	fmt.Fprintf(a.out, "%s  broken: it is free now\n", escape(state))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-8s  %s\n", name, escape(text))
		}
	}
	line("owner", done.Owner.Description())
	line("lock id", done.LockID)
	line("verdict", fmt.Sprintf("%s, %s", done.Finding.Verdict, done.Finding.Reason))
	line("fence", fmt.Sprint(done.Fence))
	line("log", filepath.Base(done.State)+".recovery.log (probate log "+operand(state)+")")
	line("copy", done.Saved)
	if done.Warning != "" {
		a.say("warning: %s", done.Warning)
	}
	return nil
}

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log [--json] STATE",
		Short: "The recovery log: every takeover and every forced break",
		Long: `log prints the recovery log of STATE, oldest first: every takeover, every forced
break, and every attempt that was abandoned after it was logged, with what was
seen. A takeover is logged before it happens, so after a crash the last one may
not have happened; its fence is then never used.

With --json every entry is one object with at, event, recoveredPid, reason,
fence, host, lockID, by and evidence. Lines that cannot be read (a torn last line
after a crash) are counted on standard error.`,
		Example: `  probate log state.json
  probate log --json state.json | jq -r 'select(.event == "break") | .by'`,
		Args: operands("STATE"),
	}
	cmd.RunE = a.verb(func(_ context.Context, args []string) error {
		state := args[0]
		if err := checkState("log", state); err != nil {
			return err
		}
		entries, unreadable, err := lockfile.ReadLog(state, a.options())
		if err != nil {
			return err
		}
		if unreadable > 0 {
			a.say("%s: lines that could not be read: %d (a torn last line after a crash counts)",
				quote(state), unreadable)
		}
		if len(entries) == 0 && unreadable == 0 && !a.json {
			a.say("%s: no takeover and no break so far", quote(state))
		}
		for _, e := range entries {
			if a.json {
				writeJSON(a.out, e)
				continue
			}
			a.logEntry(e)
		}
		return nil
	})
	return cmd
}

func (a *app) logEntry(e lockfile.LogEntry) {
	from := ""
	if e.RecoveredPID != 0 {
		from = fmt.Sprintf("from process %d", e.RecoveredPID)
		if e.Host != "" {
			from += " on " + e.Host
		}
		from += ", "
	}
	fmt.Fprintf(
		a.out,
		"%s  %-9s  fence %-3d  %s%s, by %s\n",
		e.At.Local().Format("2006-01-02 15:04:05"),
		escape(e.Event),
		e.Fence,
		escape(from),
		why(e),
		escape(e.By),
	)
	for _, line := range evidenceLines(e.Evidence) {
		fmt.Fprintf(a.out, "%23s%s\n", "", escape(line))
	}
}

// why is the reason of an entry. What a person wrote stands in quotes, for it may say anything.
func why(e lockfile.LogEntry) string {
	if e.Event == lockfile.EventBreak {
		return fmt.Sprintf("%q", e.Reason)
	}
	return escape(e.Reason)
}

// fullName is a state as inspect --json names it: absolute, with its links resolved.
func fullName(state string) string {
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err != nil || in.State == "" {
		return state
	}
	return in.State
}

// realDir is the directory with its links resolved, as the library names it.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
