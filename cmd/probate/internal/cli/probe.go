package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/spf13/cobra"
)

func (a *app) probeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe [--json] [PID]",
		Short: "What this machine says about itself and about a process",
		Long: `probe shows every fact that verdicts are made of, with where it was read, or why it
could not be read: about this machine, and about process PID. Without PID it shows
the current directory's filesystem and wall-clock times too, and tells about
itself.

With PID everything that it prints is exact, and the same at every call for as
long as the process lives: no wall-clock time, no load, and nothing that depends
on locale or time zone. "running" means that it has not exited; a process that is
stopped or traced says so. identity is the text form that a store can keep, to
ask later whether that very process is still there.

It exits with 0; with PID it exits with 0 while the process exists, 11 when the
kernel knows no such process (or it has exited), 12 when that cannot be said.`,
		Example: `  probate probe
  probate probe --json 4711 | jq -r .process.identity
  probate probe $PID >/dev/null; [ $? = 11 ] && echo gone`,
		Args: operands("[PID]"),
	}
	cmd.RunE = a.verb(func(_ context.Context, args []string) error {
		if len(args) == 0 {
			return a.probeHere()
		}
		pid, err := strconv.ParseInt(args[0], 10, 32)
		if err != nil || pid <= 0 {
			return &usageError{
				what: fmt.Sprintf("PID %q is not a process number", args[0]),
				verb: "probe",
			}
		}
		return a.probeProcess(int(pid))
	})
	return cmd
}

// machineFacts is probe.Host without what moves with the wall clock.
type machineFacts struct {
	OS         string             `json:"os"`
	Kernel     probe.Fact[string] `json:"kernel"`
	Boot       probe.Fact[string] `json:"boot"`
	MachineID  probe.Fact[string] `json:"machineID"`
	Host       probe.Fact[string] `json:"host"`
	Namespaces probe.Namespaces   `json:"namespaces"`
	ProcFS     probe.Fact[string] `json:"procfs"`
}

func exactly(h probe.Host) machineFacts {
	return machineFacts{
		h.OS,
		h.Kernel,
		h.Boot.ID,
		h.Machine.ID,
		h.Machine.Host,
		h.Namespaces,
		h.ProcFS,
	}
}

// processFacts is probe.Process without what changes while a process lives.
type processFacts struct {
	PID      int                     `json:"pid"`
	Presence probe.Presence          `json:"presence"`
	State    string                  `json:"state,omitempty"` // stopped, traced, zombie
	Start    probe.Fact[probe.Start] `json:"start"`
	PIDFD    probe.Fact[uint64]      `json:"pidfd"`
	Serial   probe.Fact[uint64]      `json:"serial"`
	Name     probe.Fact[string]      `json:"name"`
	Readings []probe.Reading         `json:"readings,omitempty"`
	Identity string                  `json:"identity,omitempty"` // text form
}

func (a *app) probeProcess(pid int) error {
	sys := probe.Real()
	host, p := exactly(sys.Host()), sys.Process(pid)
	facts := processFacts{
		PID:      pid,
		Presence: p.Presence,
		Start:    p.Start,
		PIDFD:    p.PIDFD,
		Serial:   p.Serial,
		Name:     p.Name,
	}
	for _, r := range p.Readings {
		if r.Err != "" || r.Source != p.Start.Source { // that one tells of the load, too
			facts.Readings = append(facts.Readings, r)
		}
	}
	if p.State.Known {
		switch p.State.Value {
		case "stopped", "traced", "zombie":
			facts.State = p.State.Value
		}
	}
	id, err := identity.OfOn(sys, pid)
	if err == nil {
		id.StartedAt = time.Time{} // wall time: it may read differently next time
		facts.Identity = id.String()
	}
	code := exitUnknown
	switch p.Presence {
	case probe.Running:
		code = exitOK
	case probe.Missing, probe.Exited, probe.ThreadOnly:
		code = exitGone
	}
	if a.json {
		writeJSON(a.out, struct {
			Machine machineFacts `json:"machine"`
			Process processFacts `json:"process"`
		}{host, facts})
		return exitWith(code)
	}
	rows := append([][]string{{"process", strconv.Itoa(pid)}}, processRows(facts)...)
	table(a.out, append(rows, machineRows(host)...), nil)
	return exitWith(code)
}

func (a *app) probeHere() error {
	sys := probe.Real()
	host, self := sys.Host(), sys.Self()
	me, err := identity.CurrentOn(sys)
	if err != nil {
		return err
	}
	var disk probe.Filesystem
	if dir, err := os.Open("."); err == nil {
		disk = sys.Filesystem(dir.Fd())
		dir.Close()
	}
	if a.json {
		return writeJSON(a.out, struct {
			Machine    probe.Host        `json:"machine"`
			Filesystem probe.Filesystem  `json:"filesystem"` // of the current directory
			Self       probe.Process     `json:"self"`
			Identity   identity.Identity `json:"identity"`
		}{host, disk, self, me})
	}
	rows := machineRows(exactly(host))
	rows = append(rows, factRow("booted", local(host.Boot.StartedAt)))
	where := factRow("filesystem", disk.Type)
	where[1] += map[bool]string{true: ", local", false: ", not known to be local"}[disk.Local]
	rows = append(rows, where, factRow("filesystem id", disk.ID))
	rows = append(
		rows,
		[]string{"self", strconv.Itoa(self.PID)},
		factRow(
			"start",
			self.Start,
		),
		factRow("pidfd", self.PIDFD),
		factRow("serial", self.Serial),
		factRow("started", local(self.StartedAt)),
		[]string{"identity", me.String()},
	)
	table(a.out, rows, nil)
	return nil
}

func processRows(p processFacts) [][]string {
	presence := []string{"presence", p.Presence.String()}
	if p.State != "" {
		presence[1] += " (" + p.State + ")"
	}
	rows := [][]string{presence}
	for _, r := range p.Readings {
		said := r.Said
		if r.Err != "" {
			said = "unknown (" + r.Err + ")"
		}
		rows = append(rows, []string{"", said, r.Source})
	}
	rows = append(
		rows,
		factRow("start", p.Start),
		factRow("pidfd", p.PIDFD),
		factRow("serial", p.Serial),
		factRow("name", p.Name),
	)
	if p.Identity != "" {
		rows = append(rows, []string{"identity", p.Identity})
	}
	return rows
}

func machineRows(m machineFacts) [][]string {
	initial := m.Namespaces.PIDInitial
	return [][]string{
		{"os", m.OS}, factRow("kernel", m.Kernel), factRow("boot", m.Boot),
		factRow("machine id", m.MachineID), factRow("host", m.Host),
		factRow("pid namespace", m.Namespaces.PID), factRow("  initial", initial),
		factRow("time namespace", m.Namespaces.Time), factRow("/proc", m.ProcFS),
	}
}

func factRow[T any](name string, f probe.Fact[T]) []string {
	return []string{name, f.String(), f.Source}
}

func local(t probe.Fact[time.Time]) probe.Fact[string] {
	return probe.Fact[string]{Value: t.Value.Local().Format(time.DateTime), Known: t.Known,
		Source: t.Source, Err: t.Err}
}
