package probe

import (
	"os"
	"strconv"
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

	mu      sync.Mutex // guards what follows
	start   Fact[Start]
	pidfd   Fact[uint64]
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
	pid := os.Getpid()
	p := unknownProcess(pid, nil)
	p.Presence = Running
	p.note("getpid()", "this process")

	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pidfd.Known {
		s.pidfd = s.ownPIDFD(pid)
	}
	p.PIDFD = s.pidfd

	// Never /proc/<getpid>, which is another process where /proc belongs to an outer namespace.
	const source = "/proc/self/stat"
	proc, err := openProcFS()
	var st procStat
	if err == nil {
		st, err = readStat(proc.directory, "self/stat")
		proc.close()
	}
	p.describeOr(st, err, source)
	if !s.start.Known {
		s.start = p.Start
	}
	p.Start = s.start // also when /proc went away since an earlier call
	return p
}

func (s *linuxSystem) ownPIDFD(pid int) Fact[uint64] {
	fd, err := s.openPIDFD(pid)
	if err != nil {
		return Unknown[uint64](pidfdSource(pid), err)
	}
	defer unix.Close(fd)
	return pidfdInode(fd, pid)
}

func pidfdSource(pid int) string { return "pidfd_open(" + strconv.Itoa(pid) + ")" }
