package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// place is what is known of the place that processes are looked at from, when the process that
// looks was just found to be the one that found it out. The zero value knows nothing.
type place struct {
	proc  *mountKey // a mount of procfs of this pid namespace; nil, or unique for the boot
	pidfs uint64    // device of the pidfds that have inodes of their own; 0: there are none
}

// sight implements sighting.
func (s *linuxSystem) sight() Sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember()
	s.recallHost()
	started := Unknown[time.Time]("clock_gettime()", errNotAsked)
	device := s.own.device
	return Sight{s.host(started), func(pid int) Process {
		at := place{pidfs: device}
		if key := s.oursOn.Load(); key != nil && key.unique { // perhaps since the look before
			at.proc = key
		}
		return s.process(pid, at)
	}}
}

// openEntry opens the directory of a process without looking at /proc itself. A mount shows the
// same filesystem as long as it exists, a procfs the same pid namespace, and no other mount gets
// its number: what was found out about the mount that the directory lies on holds. ok is false
// where that says nothing; an error says that there is no such directory.
func (at place) openEntry(pid int) (e procEntry, ok bool) {
	e = procEntry{pid: pid, procNames: namesOf(pid), dir: noDirectory}
	if at.proc == nil {
		return e, false
	}
	dir, err := directory(unix.AT_FDCWD).openDir(e.path)
	if err != nil {
		e.err = err
		return e, err == unix.ENOENT
	}
	if mount, err := mountOf(dir); err != nil || mount != *at.proc {
		dir.close()
		return e, false
	}
	e.dir = dir
	return e, true
}
