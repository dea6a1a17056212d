package probetest

import (
	"time"

	"github.com/probate-dev/probate/probe"
)

// NewWindows returns a Windows system on which everything is known that Windows has: process
// [SelfPID] runs on a local NTFS, and nobody else is there.
func NewWindows() *System {
	s := New()
	s.SelfProcess = WindowsProcess(SelfPID, BootTime.Add(50*time.Second))
	h := &s.HostFacts
	h.OS, h.Kernel = "windows", probe.Known("10.0.26100", "scripted")
	h.Boot.ID = probe.Known("boottime:134117966450000000", "scripted")
	h.Namespaces = probe.Namespaces{
		PID:        probe.Unknown[uint64]("scripted", errNotThere),
		Time:       probe.Unknown[uint64]("scripted", errNotThere),
		PIDInitial: probe.Known(true, "scripted"),
	}
	h.ProcFS = probe.Unknown[string]("scripted", errNotThere)
	s.FS.Type = probe.Known("ntfs", "scripted")
	s.FS.ID = probe.Known("vol:0123456789abcdef", "scripted")
	return s
}

// WindowsProcess returns the facts of a process that runs on Windows since then.
func WindowsProcess(pid int, started time.Time) probe.Process {
	p := Process(pid, 0)
	p.PIDFD = probe.Unknown[uint64]("scripted", errNotThere)
	// 100 ns units since 1601
	p.Start = probe.Known(probe.FileTime(uint64(started.Unix()+11644473600)*1e7+
		uint64(started.Nanosecond()/100)), "scripted")
	p.StartedAt = probe.Known(started, "scripted")
	return p
}
