package probetest

import (
	"slices"
	"sync"
	"time"

	"github.com/probate-dev/probate/probe"
)

// System is a scripted operating system. Its fields are what it answers; a process number that is
// not listed is [probe.Missing]. Set the fields before it is used, and afterwards only inside
// [System.Change]. The functions, where they are not nil, answer instead of the fields; they are
// called without any lock held and may use the System.
type System struct {
	SelfProcess   probe.Process
	HostFacts     probe.Host
	Processes     map[int]probe.Process // Self is found without being listed
	FS            probe.Filesystem      // of every handle
	OpenersAnswer probe.Openers         // for every handle
	NestedAnswer  map[int]probe.Nested  // by process number; not listed: none, and complete

	OnProcess    func(pid int) probe.Process
	OnFilesystem func(handle uintptr) probe.Filesystem
	OnOpeners    func(handle uintptr) probe.Openers
	OnNested     func(pid int) probe.Nested

	mu    sync.Mutex
	asked []int
}

var _ probe.System = (*System)(nil)

// Facts of the system that New returns.
const (
	SelfPID = 1000 // number of the calling process
	// BootID is the boot id.
	BootID = "01234567-89ab-4cde-8f01-23456789abcd"
	// MachineID is the machine id.
	MachineID = "0123456789abcdef0123456789abcdef"
	// PIDNamespace is the inode of the initial pid namespace.
	PIDNamespace = 4026531836
	// TimeNamespace is the inode of the initial time namespace.
	TimeNamespace = 4026531834
)

// BootTime is when the system that New returns was started.
var BootTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// New returns a Linux system on which everything is known: process [SelfPID] runs on a local ext4,
// in the initial namespaces, and nobody else is there.
func New() *System {
	return &System{
		SelfProcess: Process(SelfPID, 5000),
		HostFacts: probe.Host{
			OS:     "linux",
			Kernel: probe.Known("6.18.0", "scripted"),
			Boot: probe.Boot{
				ID:        probe.Known(BootID, "scripted"),
				StartedAt: probe.Known(BootTime, "scripted"),
			},
			Machine: probe.Machine{
				ID:     probe.Known(MachineID, "scripted"),
				Legacy: MachineID,
				Host:   probe.Known("scripted", "scripted"),
			},
			Namespaces: probe.Namespaces{
				PID:        probe.Known[uint64](PIDNamespace, "scripted"),
				Time:       probe.Known[uint64](TimeNamespace, "scripted"),
				PIDInitial: probe.Known(true, "scripted"),
			},
			ProcFS: probe.Known("trustworthy", "scripted"),
		},
		Processes: map[int]probe.Process{},
		FS: probe.Filesystem{
			Type:  probe.Known("ext4", "scripted"),
			ID:    probe.Known("0123456789abcdef", "scripted"),
			Local: true,
		},
	}
}

// Process returns the facts of a process that runs and was started so many ticks of 10 ms after the
// boot at [BootTime]. Its pidfd inode is made of both numbers.
func Process(pid int, ticks uint64) probe.Process {
	started := BootTime.Add(time.Duration(ticks) * 10 * time.Millisecond)
	return probe.Process{
		PID:       pid,
		Presence:  probe.Running,
		Readings:  []probe.Reading{{Source: "scripted", Said: "running"}},
		State:     probe.Known("sleeping", "scripted"),
		Threads:   probe.Known(1, "scripted"),
		Start:     probe.Known(probe.Ticks(ticks), "scripted"),
		PIDFD:     probe.Known(ticks<<22|uint64(pid), "scripted"),
		Serial:    probe.Unknown[uint64]("scripted", errNotThere),
		Name:      probe.Known("scripted", "scripted"),
		StartedAt: probe.Known(started, "scripted"),
	}
}

// Absent returns the facts about a number at which no process can be described: [probe.Missing],
// [probe.ThreadOnly], or [probe.PresenceUnknown] with the reason why.
func Absent(pid int, presence probe.Presence, why error) probe.Process {
	reading := probe.Reading{Source: "scripted", Said: presence.String()}
	if presence == probe.PresenceUnknown {
		reading = probe.Reading{Source: "scripted"}
		if why != nil {
			reading.Err = why.Error()
		}
	}
	return probe.Process{
		PID:       pid,
		Presence:  presence,
		Readings:  []probe.Reading{reading},
		State:     probe.Unknown[string]("scripted", why),
		Threads:   probe.Unknown[int]("scripted", why),
		Start:     probe.Unknown[probe.Start]("scripted", why),
		PIDFD:     probe.Unknown[uint64]("scripted", why),
		Serial:    probe.Unknown[uint64]("scripted", why),
		Name:      probe.Unknown[string]("scripted", why),
		StartedAt: probe.Unknown[time.Time]("scripted", why),
	}
}

// Change calls change while nobody is being answered. It must not use the System otherwise.
func (s *System) Change(change func(*System)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// Add lists a process.
func (s *System) Add(p probe.Process) {
	s.Change(func(s *System) {
		if s.Processes == nil {
			s.Processes = map[int]probe.Process{}
		}
		s.Processes[p.PID] = p
	})
}

// Remove takes a process off the list: it is missing from now on.
func (s *System) Remove(pid int) { s.Change(func(s *System) { delete(s.Processes, pid) }) }

// Asked returns the numbers that were asked about so far, in order.
func (s *System) Asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Self implements probe.System.
func (s *System) Self() probe.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.SelfProcess
}

// Process implements probe.System.
func (s *System) Process(pid int) probe.Process {
	s.mu.Lock()
	s.asked = append(s.asked, pid)
	p, listed := s.Processes[pid]
	if !listed && pid == s.SelfProcess.PID {
		p, listed = s.SelfProcess, true
	}
	on := s.OnProcess
	s.mu.Unlock()
	switch {
	case on != nil:
		return on(pid)
	case listed:
		return p
	default:
		return Absent(pid, probe.Missing, errNoProcess)
	}
}

// Host implements probe.System.
func (s *System) Host() probe.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.HostFacts
}

// Filesystem implements probe.System.
func (s *System) Filesystem(handle uintptr) probe.Filesystem {
	s.mu.Lock()
	answer, on := s.FS, s.OnFilesystem
	s.mu.Unlock()
	if on != nil {
		return on(handle)
	}
	return answer
}

// Openers implements probe.System.
func (s *System) Openers(handle uintptr) probe.Openers {
	s.mu.Lock()
	answer, on := s.OpenersAnswer, s.OnOpeners
	s.mu.Unlock()
	if on != nil {
		return on(handle)
	}
	return answer
}

// Nested implements probe.System.
func (s *System) Nested(pid int) probe.Nested {
	s.mu.Lock()
	answer, on := s.NestedAnswer[pid], s.OnNested
	s.mu.Unlock()
	if on != nil {
		return on(pid)
	}
	return answer
}
