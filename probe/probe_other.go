//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly || windows)

package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

var real System = otherSystem{}

// otherSystem knows what every system has: process numbers and a host name.
type otherSystem struct{}

var errNotHere = fmt.Errorf("not known on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func (otherSystem) Self() Process {
	p := unknownProcess(os.Getpid(), errNotHere)
	p.Presence = Running
	p.Readings = []Reading{{Source: "getpid()", Said: "this process"}}
	return p
}

func (s otherSystem) Process(pid int) Process {
	if pid == os.Getpid() {
		return s.Self()
	}
	p := unknownProcess(pid, errNotHere)
	p.Readings = []Reading{{Source: "process table", Err: errNotHere.Error()}}
	return p
}

func (otherSystem) Host() Host {
	h := Host{
		OS:     runtime.GOOS,
		Kernel: Unknown[string]("", errNotHere),
		Boot: Boot{
			ID:        Unknown[string]("", errNotHere),
			StartedAt: Unknown[time.Time]("", errNotHere),
		},
		Machine: Machine{ID: Unknown[string]("", errNotHere), Host: hostName()},
		Namespaces: Namespaces{
			PID:        Unknown[uint64]("", errNotHere),
			Time:       Unknown[uint64]("", errNotHere),
			PIDInitial: Unknown[bool]("", errNotHere),
		},
		ProcFS: Unknown[string]("", errNotHere),
	}
	return h
}

func (otherSystem) Filesystem(uintptr) Filesystem {
	return Filesystem{
		Type: Unknown[string]("", errNotHere),
		ID:   Unknown[string]("", errNotHere),
	}
}

func (otherSystem) Openers(uintptr) Openers { return Openers{Incomplete: errNotHere} }

func (otherSystem) Nested(int) Nested { return Nested{Incomplete: errNotHere} }
