package probetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/probate-dev/probate/probe"
)

// Facts of the systems that NewDarwin and NewBSD return.
const (
	// BootSession is the boot id of the macOS system, kern.bootsessionuuid.
	BootSession = "01234567-89AB-4CDE-8F01-23456789ABCD"
	// HostUUID is the machine id.
	HostUUID = "FEDCBA98-7654-4210-8FED-CBA987654321"
)

// NewDarwin returns a macOS on which everything is known that macOS says: process [SelfPID] runs on
// a local apfs, and nobody else is there.
func NewDarwin() *System {
	return &System{
		SelfProcess: DarwinProcess(SelfPID, 50*time.Second),
		HostFacts:   otherHost("darwin", probe.Known(BootSession, "scripted"), true),
		Processes:   map[int]probe.Process{},
		FS:          otherFS("apfs"),
	}
}

// DarwinProcess returns the facts of a process of the system that [NewDarwin] returns, which runs
// and was started so long after the boot at [BootTime]. Its serial number is made of both numbers.
func DarwinProcess(pid int, after time.Duration) probe.Process {
	started := BootTime.Add(after)
	p := otherProcess("darwin", pid, started)
	p.Start = usec(started)
	p.Serial = probe.Known(uint64(after.Microseconds())<<17|uint64(pid), "scripted")
	return p
}

// NewBSD returns one of the BSDs, by the name that Go has for it: freebsd, openbsd, netbsd or
// dragonfly, with everything known that it says. Only FreeBSD has boot ids.
func NewBSD(os string) *System {
	boot := probe.Unknown[string]("scripted", errNotThere)
	if os == "freebsd" {
		boot = probe.Known(BootID, "scripted")
	}
	return &System{
		SelfProcess: BSDProcess(os, SelfPID, 50*time.Second),
		HostFacts:   otherHost(os, boot, os == "freebsd"),
		Processes:   map[int]probe.Process{},
		FS: otherFS(map[string]string{
			"freebsd": "zfs", "openbsd": "ffs", "netbsd": "ffs", "dragonfly": "hammer2",
		}[os]),
	}
}

// BSDProcess returns the facts of a process of the system that [NewBSD] returns. OpenBSD and
// DragonFly BSD have no exact start.
func BSDProcess(os string, pid int, after time.Duration) probe.Process {
	started := BootTime.Add(after)
	p := otherProcess(os, pid, started)
	switch os {
	case "freebsd":
		p.Start = probe.Known(probe.Start(fmt.Sprintf("uptime:%d", after.Microseconds())),
			"scripted")
	case "netbsd":
		p.Start = usec(started)
	}
	return p
}

// usec is the start of a process on the systems that note its wall time.
func usec(started time.Time) probe.Fact[probe.Start] {
	return probe.Known(probe.Start(fmt.Sprintf("usec:%d.%06d", started.Unix(),
		started.Nanosecond()/1000)), "scripted")
}

// errNotThere is why a scripted system does not have what its real one never has.
var errNotThere = fmt.Errorf("not on this system: %w", errors.ErrUnsupported)

func otherHost(os string, boot probe.Fact[string], initial bool) probe.Host {
	h := probe.Host{
		OS: os, Kernel: probe.Known("25.0.0", "scripted"),
		Boot: probe.Boot{ID: boot, StartedAt: probe.Known(BootTime, "scripted")},
		Machine: probe.Machine{
			ID: probe.Known(HostUUID, "scripted"), Host: probe.Known("scripted", "scripted"),
		},
		Namespaces: probe.Namespaces{
			PID:        probe.Unknown[uint64]("", errNotThere),
			Time:       probe.Unknown[uint64]("", errNotThere),
			PIDInitial: probe.Unknown[bool]("", errNotThere),
		},
		ProcFS: probe.Unknown[string]("", errNotThere),
	}
	if os == "darwin" {
		h.Machine.Legacy = HostUUID
	}
	if initial {
		h.Namespaces.PIDInitial = probe.Known(true, "scripted")
	}
	return h
}

func otherFS(name string) probe.Filesystem {
	return probe.Filesystem{
		Type: probe.Known(name, "scripted"), ID: probe.Known("010000120000001a", "scripted"),
		Local: true,
	}
}

func otherProcess(os string, pid int, started time.Time) probe.Process {
	p := Absent(pid, probe.Running, errNotThere)
	p.State = probe.Known("running", "scripted")
	p.Name = probe.Known("scripted", "scripted")
	p.StartedAt = probe.Known(started.Truncate(time.Millisecond), "scripted")
	if os == "freebsd" || os == "netbsd" {
		p.Threads = probe.Known(1, "scripted")
	}
	return p
}
