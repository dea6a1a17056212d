package probe

import (
	"runtime"
	"sync/atomic"
	"time"

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

// ForkedPage forks and returns what the child sees in the page by which s knows its forks: 1 means
// that the child takes itself for its parent. ok is false where there is no such page here.
func ForkedPage(s System) (seen byte, ok bool, err error) {
	l := s.(*linuxSystem)
	l.standing()
	page := l.own.page
	if page == nil {
		return 0, false, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, errno := forkAndExit(&page[0])
	if errno != 0 {
		return 0, true, errno
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return 0, true, err
	}
	return byte(status.ExitStatus()), true, nil
}

// forkAndExit forks a child that makes no use of the Go runtime: it ends at once with what is at p
// as its exit code.
//
//go:noinline
//go:norace
func forkAndExit(p *byte) (pid int, errno unix.Errno) {
	flags, stack := uintptr(unix.SIGCHLD), uintptr(0)
	if runtime.GOARCH == "s390x" {
		flags, stack = stack, flags
	}
	r, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, stack, 0, 0, 0, 0)
	if r == 0 && errno == 0 {
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(*p), 0, 0)
		}
	}
	return int(r), errno
}

// AsCopy makes s believe that it was restored from a checkpoint of another process.
func AsCopy(s System) {
	l := s.(*linuxSystem)
	l.standing()
	l.own.inode.Value++
	l.own.ticks.Value++
	l.boot.Value = "of another kernel"
}

// AsFork makes s believe that it is in a fork of the process that it remembers: what the kernel
// clears there is cleared, and all else is as the parent had it. False where nothing is cleared.
func AsFork(s System) bool {
	l := s.(*linuxSystem)
	l.standing()
	if l.own.page == nil {
		return false
	}
	l.own.page[0] = 0
	l.own.ticks.Value++
	l.own.start = ""
	l.spaces.PID.Value++
	l.last = nil
	return true
}

// KnowsProc reports whether s looks at processes through a mount that it found out about before.
func KnowsProc(s System) bool {
	key := s.(*linuxSystem).oursOn.Load()
	return key != nil && key.unique
}

// OwnPIDFD returns the descriptor that s keeps on its own process.
func OwnPIDFD(s System) int { return s.(*linuxSystem).own.pidfd }

// ClocksWereSet makes it look as if the wall clock had been set forward by d, or the machine been
// suspended for as long, since it was compared with the others.
func ClocksWereSet(d time.Duration) {
	was := lastClocks.Load()
	lastClocks.Store(&clocks{was.at, was.wall - int64(d), was.boot.Add(-d)})
}
