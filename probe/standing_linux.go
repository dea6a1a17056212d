package probe

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// own is what the calling process remembers of itself. A fork of it, or a copy of it that was
// restored from a checkpoint, has all of this in its memory too, and must not believe it.
type own struct {
	pid    int
	inode  Fact[uint64] // of any pidfd of this process
	pidfd  int          // one that is kept open; meaningful only with device
	device uint64       // of pidfd; 0: none is kept open
	ticks  Fact[uint64] // the start
	start  Start        // ticks as text; "": not made yet

	page []byte // see forkPage
}

// remember makes sure that what s remembers was read by this very process, and begins anew where it
// was not. It costs one system call where a pidfd can be kept open. s.mu is held.
func (s *linuxSystem) remember() {
	o := &s.own
	if o.device != 0 && o.page[0] != 0 {
		var st unix.Stat_t
		if unix.Fstat(o.pidfd, &st) == nil && uint64(st.Dev) == o.device &&
			uint64(st.Ino) == o.inode.Value {
			return
		}
		// Not closed here: whoever closed it may have been given the number again.
	}
	pid, device := os.Getpid(), uint64(0)
	names := namesOf(pid)
	inode := Unknown[uint64](names.pidfd, errNotAsked)
	fd, err := s.openPIDFD(pid)
	if err != nil {
		inode.Err = err
	} else if inode = pidfdInode(fd, names.fstatFD, 0); !inode.Known {
		unix.Close(fd)
	} else if device = o.keep(fd); device == 0 {
		unix.Close(fd)
	}
	another := o.pid != 0 && o.pid != pid || o.page != nil && o.page[0] == 0 ||
		inode.Known && o.inode.Known && inode.Value != o.inode.Value
	if another { // perhaps even under another kernel
		*o = own{}
		s.last = nil
		s.oursOn.Store(nil)
		s.wholeOn.Store(nil)
		s.kernel, s.boot, s.machine, s.spaces = Fact[string]{}, Fact[string]{}, Machine{},
			Namespaces{}
		if device != 0 {
			device = o.keep(fd)
		}
	}
	o.pid, o.inode, o.pidfd, o.device = pid, inode, fd, device
}

// keep returns the device of a pidfd that may be kept open: where a fork can be told from this
// process by looking at a page of memory. 0: it may not.
func (o *own) keep(fd int) (device uint64) {
	if o.page == nil {
		if o.page = forkPage(); o.page == nil {
			return 0
		}
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return uint64(st.Dev)
}

// same implements standing.
func (s *linuxSystem) same(was *Process) Fact[bool] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember()
	if now := &s.own.inode; was.PIDFD.Known && now.Known {
		return Known(was.PIDFD.Value == now.Value, now.Source)
	}
	st, err := readOwnStat()
	if err != nil {
		return Unknown[bool](ownStat, err)
	}
	return sameStart(was.Start, Known(Ticks(st.start), ownStat))
}

// standing implements standing. What could not be read is asked for again, as Host does.
func (s *linuxSystem) standing() *Stand {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember()
	boot, err := bootTime()
	name := s.hostName()
	if last := s.last; last != nil && err == nil && last.boot.Equal(boot) &&
		name == last.stand.Host.Machine.Host {
		return &last.stand
	}
	if !s.own.ticks.Known {
		st, err := readOwnStat()
		if err != nil {
			s.own.ticks = Unknown[uint64](ownStat, err)
		} else {
			s.own.ticks = Known(st.start, ownStat)
		}
	}
	s.recallHost()
	h := s.host(atTick(boot, err, 0))
	h.Machine.Host = name
	p := Process{PID: s.own.pid, Presence: Running, PIDFD: s.own.inode,
		State:   Unknown[string](ownStat, errNotAsked),
		Threads: Unknown[int](ownStat, errNotAsked),
		Name:    Unknown[string](ownStat, errNotAsked),
	}
	if ticks := s.own.ticks; ticks.Known {
		if s.own.start == "" {
			s.own.start = Ticks(ticks.Value)
		}
		p.Start = Known(s.own.start, ticks.Source)
		p.StartedAt = atTick(boot, err, ticks.Value)
	} else {
		p.Start = Unknown[Start](ticks.Source, ticks.Err)
		p.StartedAt = Unknown[time.Time](ticks.Source, ticks.Err)
	}
	now := &stood{Stand{h, p}, boot}
	s.last = nil
	if s.own.ticks.Known && s.own.inode.Known && name.Known && s.allRecalled() &&
		s.kernel.Known && s.machine.ID.Known {
		s.last = now
	}
	return &now.stand
}

// stood is a Stand in which everything is known that can be, with the boot as exactly as it was
// measured.
type stood struct {
	stand Stand
	boot  time.Time
}

// hostName is hostName, and most of the time the one that was returned last.
func (s *linuxSystem) hostName() Fact[string] {
	var uts unix.Utsname
	if last := s.last; last != nil && unix.Uname(&uts) == nil {
		was := last.stand.Host.Machine.Host
		// One that fills all the room may be cut short.
		if n := len(was.Value); n > 0 && n < len(uts.Nodename)-1 &&
			string(uts.Nodename[:n]) == was.Value && uts.Nodename[n] == 0 {
			return was
		}
	}
	return hostName()
}

// readHost reads what is not remembered yet of the facts that cannot change. s.mu is held.
func (s *linuxSystem) readHost(proc procFS, err error) {
	if !s.kernel.Known {
		s.kernel = kernelRelease()
	}
	if !s.boot.Known {
		s.boot = bootID(proc, err)
	}
	if !s.machine.ID.Known {
		s.machine = machine(machineIDFiles)
	}
	if !s.spaces.PID.Known || !s.spaces.Time.Known {
		s.spaces = namespaces(proc, err)
	}
}

// recallHost is readHost, and opens /proc only where something is to be read there. s.mu is held.
func (s *linuxSystem) recallHost() {
	if s.allRecalled() {
		s.readHost(procFS{noDirectory}, nil)
		return
	}
	proc, err := openProcFS()
	s.readHost(proc, err)
	proc.close()
}

// allRecalled reports whether all is remembered that is to be read in /proc. s.mu is held.
func (s *linuxSystem) allRecalled() bool {
	return s.boot.Known && s.spaces.PID.Known && s.spaces.Time.Known
}

// host puts together what is remembered. s.mu is held.
func (s *linuxSystem) host(started Fact[time.Time]) Host {
	h := Host{
		OS:         "linux", // also on Android: the rules are those of the kernel
		Kernel:     s.kernel,
		Boot:       Boot{ID: s.boot, StartedAt: started},
		Machine:    s.machine,
		Namespaces: s.spaces,
		ProcFS:     Unknown[string]("/proc", errNotAsked),
	}
	h.Machine.Host = Unknown[string]("host name", errNotAsked)
	return h
}

const ownStat = "/proc/self/stat"

// readOwnStat never reads /proc/<getpid>, which is another process where /proc belongs to an outer
// namespace.
func readOwnStat() (procStat, error) {
	proc, err := openProcFS()
	if err != nil {
		return procStat{}, err
	}
	defer proc.close()
	return readStat(proc.directory, "self/stat")
}

var errNotAsked = errors.New("not asked")
