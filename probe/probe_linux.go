package probe

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var real System = newLinuxSystem()

// linuxSystem is the running Linux kernel. It remembers what cannot change in the life of a
// process; what could not be read is asked for again.
type linuxSystem struct {
	calls
	oursOn  atomic.Pointer[mountKey] // the last /proc that turned out to be of this pid namespace
	wholeOn atomic.Pointer[mountKey] // the last /proc that turned out to hide nothing
	lastFS  atomic.Pointer[namedFS]  // the last filesystem that was asked about

	mu      sync.Mutex // guards what follows
	own     own
	last    *stood // what standing returned last; nil: it is to be put together anew
	kernel  Fact[string]
	boot    Fact[string]
	machine Machine // ID and Legacy
	spaces  Namespaces
}

// calls are the system calls whose answers decide whether a process is there, in one place so that
// tests can make each of them fail.
type calls struct {
	pidfdOpen func(pid, flags int) (int, error)
	poll      func(fds []unix.PollFd, timeout int) (int, error)
	kill      func(pid int, sig unix.Signal) error
}

func newLinuxSystem() *linuxSystem {
	return &linuxSystem{calls: calls{
		pidfdOpen: unix.PidfdOpen,
		poll:      unix.Poll,
		kill:      unix.Kill,
	}}
}

// Self implements System.
func (s *linuxSystem) Self() Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember()
	p := unknownProcess(s.own.pid, nil)
	p.Presence = Running
	p.note("getpid()", "this process")
	p.PIDFD = s.own.inode

	st, err := readOwnStat()
	p.describeOr(st, err, ownStat)
	switch ticks := s.own.ticks; {
	case p.Start.Known:
		s.own.ticks, s.own.start = Known(st.start, ownStat), p.Start.Value
	case ticks.Known: // /proc went away since an earlier call
		p.Start = Known(Ticks(ticks.Value), ticks.Source)
	}
	return p
}
