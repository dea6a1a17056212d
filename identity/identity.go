package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/probate-dev/probate/probe"
)

// ErrNoProcess is returned by Of when no process has that number now.
var ErrNoProcess = errors.New("no such process")

// Identity names one process. The zero value of a field says that it is not known. Everything up to
// TimeNS is evidence, the rest is for people.
type Identity struct {
	OS     string      // operating system, as runtime.GOOS
	PID    int         // process number, in the pid namespace PIDNS
	Boot   string      // boot identity, only when it is genuine
	Start  probe.Start // the kernel's own start value, as seen from the time namespace TimeNS
	PIDFD  uint64      // Linux ≥ 6.9: inode of the process's pidfd, unique for the boot
	Serial uint64      // macOS: p_uniqueid, unique for the boot
	PIDNS  uint64      // Linux: inode of the pid namespace
	TimeNS uint64      // Linux: inode of the time namespace

	Program   string    // base name of the executable; no arguments, no environment
	Host      string    // host name
	StartedAt time.Time // wall time of the start; moves with clock steps
}

// Current returns the identity of the calling process. It fails only where not even the process
// number means anything; facts that cannot be read stay empty, and take away the evidence that they
// would give.
func Current() (Identity, error) { return CurrentOn(probe.Real()) }

// CurrentOn is Current on a system other than the real one.
func CurrentOn(sys probe.System) (Identity, error) {
	self := sys.Self()
	if self.PID <= 0 {
		return Identity{}, fmt.Errorf("identity: this process has no number (%s)",
			readings(self))
	}
	id := from(self, sys.Host())
	if name := program(); name != "" {
		id.Program = name
	}
	return id, nil
}

// Of returns the identity of a running process, by its number in the caller's pid namespace. A
// process that does not exist, has exited, or is only a thread gives an error that matches
// ErrNoProcess; one that cannot be looked at gives another error.
func Of(pid int) (Identity, error) { return OfOn(probe.Real(), pid) }

// OfOn is Of on a system other than the real one.
func OfOn(sys probe.System, pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, fmt.Errorf("identity: %d is not a process number", pid)
	}
	p := sys.Process(pid)
	switch p.Presence {
	case probe.Running:
		return from(p, sys.Host()), nil
	case probe.Missing, probe.Exited, probe.ThreadOnly:
		return Identity{}, fmt.Errorf("identity: process %d: %w (%s)",
			pid, ErrNoProcess, p.Presence)
	default:
		return Identity{}, fmt.Errorf("identity: process %d cannot be looked at: %s",
			pid, readings(p))
	}
}

func from(p probe.Process, h probe.Host) Identity {
	return Identity{
		OS:        h.OS,
		PID:       p.PID,
		Boot:      value(h.Boot.ID),
		Start:     value(p.Start),
		PIDFD:     exact(p.PIDFD),
		Serial:    exact(p.Serial),
		PIDNS:     exact(h.Namespaces.PID),
		TimeNS:    exact(h.Namespaces.Time),
		Program:   label(value(p.Name)),
		Host:      label(value(h.Machine.Host)),
		StartedAt: value(p.StartedAt).UTC().Truncate(time.Millisecond),
	}
}

func value[T any](f probe.Fact[T]) T {
	if !f.Known {
		var zero T
		return zero
	}
	return f.Value
}

// unread says why a fact could not be read, and where it was looked for.
func unread[T any](f probe.Fact[T]) string {
	switch {
	case f.Err == nil:
		return "not read"
	case f.Source == "" || strings.Contains(f.Err.Error(), f.Source):
		return f.Err.Error()
	}
	return f.Source + ": " + f.Err.Error()
}

// exact drops a number that JSON could not carry: that only takes away the evidence it would give.
func exact(f probe.Fact[uint64]) uint64 {
	if n := value(f); n < maxExact {
		return n
	}
	return 0
}

func program() string {
	exe, err := os.Executable()
	if err != nil && len(os.Args) > 0 {
		exe = os.Args[0] // Linux without /proc
	}
	if exe == "" {
		return ""
	}
	return label(filepath.Base(exe))
}

// label makes a name fit for JSON, a log line and a terminal. Anybody can give a process a name
// with line breaks, escape sequences and bytes that are not UTF-8.
func label(name string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

func readings(p probe.Process) string {
	said := ""
	for _, r := range p.Readings {
		if said != "" {
			said += "; "
		}
		said += r.Source + ": " + r.Said + r.Err
	}
	if said == "" {
		return "nothing could be read"
	}
	return said
}

// Judge says whether the process that id names still exists, by identity evidence only. It reads
// the operating system anew at every call and never fails: what cannot be found out is Unknown.
func Judge(id Identity) Finding { return JudgeOn(probe.Real(), id) }

// JudgeOn is Judge on a system other than the real one.
func JudgeOn(sys probe.System, id Identity) Finding {
	host := sys.Host()
	seen := Observation{Host: host}
	if Comparable(id, host) {
		seen.Process = sys.Process(id.PID)
	}
	return Decide(Claim{Form: Stamp, Owner: id}, seen, Policy{})
}

// Comparable reports whether id's process number means the same process to a reader on host: same
// operating system, genuine and equal boots, same pid namespace. Where it is false the number must
// not even be looked up: another process may have it here.
func Comparable(id Identity, host probe.Host) bool {
	return id.PID > 0 && id.OS == host.OS &&
		id.Boot != "" && host.Boot.ID.Known && id.Boot == host.Boot.ID.Value &&
		samePIDNamespace(&id, &host)
}

// samePIDNamespace: systems other than Linux have no pid namespaces.
func samePIDNamespace(id *Identity, host *probe.Host) bool {
	if host.OS != "linux" {
		return true
	}
	ns := host.Namespaces.PID
	return id.PIDNS != 0 && ns.Known && ns.Value == id.PIDNS
}
