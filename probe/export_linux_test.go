package probe

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Faults are answers that a system under test gets instead of the kernel's. A zero errno leaves the
// kernel's answer alone.
type Faults struct {
	PIDFDOpen, Poll, Kill unix.Errno
	KillSaysAlive         bool
	Calls                 atomic.Int64
}

// NewFaulty returns the running system with faults.
func NewFaulty(f *Faults) System {
	s := newLinuxSystem()
	real := s.calls
	s.pidfdOpen = func(pid, flags int) (int, error) {
		f.Calls.Add(1)
		if f.PIDFDOpen != 0 {
			return -1, f.PIDFDOpen
		}
		return real.pidfdOpen(pid, flags)
	}
	s.poll = func(fds []unix.PollFd, timeout int) (int, error) {
		f.Calls.Add(1)
		if f.Poll != 0 {
			return -1, f.Poll
		}
		return real.poll(fds, timeout)
	}
	s.kill = func(pid int, sig unix.Signal) error {
		f.Calls.Add(1)
		if sig != 0 {
			panic("a real signal")
		}
		if f.KillSaysAlive {
			return nil
		}
		if f.Kill != 0 {
			return f.Kill
		}
		return real.kill(pid, sig)
	}
	return s
}

// NewUncached returns the running system with nothing remembered.
func NewUncached() System { return newLinuxSystem() }

// MachineFrom reads the machine id from other files.
func MachineFrom(files ...string) Machine { return machine(files) }

// MaxPID is the largest process number that is ever asked about.
const MaxPID = maxPID

// ParseFDInfoMount returns the mount number in an fdinfo text.
func ParseFDInfoMount(text string) int { return parseFDInfo([]byte(text)).mount }
