package probe

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxPID is the kernel's own limit (PID_MAX_LIMIT). Signals to 0, to negative numbers and to what
// overflows go to groups of processes, so that none of them is ever asked about.
const maxPID = 4 << 20

var (
	errInode32 = fmt.Errorf("inodes of pidfds are cut short in 32-bit programs: %w",
		errors.ErrUnsupported)
	errInodeShared = fmt.Errorf("pidfds have no inodes of their own before Linux 6.9: %w",
		errors.ErrUnsupported)
)

// Process implements System.
func (s *linuxSystem) Process(pid int) Process { return s.process(pid, place{}) }

func (s *linuxSystem) process(pid int, at place) Process {
	if pid <= 0 || pid > maxPID {
		p := unknownProcess(pid, errNumber)
		p.note("process number "+strconv.Itoa(pid), errNumber.Error())
		return p
	}
	// A process that ends while it is looked at can leave answers that belong to two processes. A
	// second look then almost always finds one or none.
	p, settled := s.look(pid, at)
	if !settled {
		p, _ = s.look(pid, place{})
	}
	return p
}

// look asks about pid once. settled is false when the answers may belong to two processes that had
// the number one after the other.
func (s *linuxSystem) look(pid int, at place) (p Process, settled bool) {
	// The directory is opened before everything else and read after it. A directory in /proc
	// belongs to one process and gives nothing once that is reaped, so that an answer through it
	// proves that the number has meant the same process all the time.
	entry, known := at.openEntry(pid)
	if !known {
		entry = s.openEntry(pid)
	}
	fd, err := s.openPIDFD(pid)
	if known && entry.err != nil && err != unix.ESRCH { // it is hidden, or has just begun
		if err == nil {
			unix.Close(fd)
		}
		entry = s.openEntry(pid)
		fd, err = s.openPIDFD(pid)
	}
	defer entry.close()
	switch err {
	case nil:
		defer unix.Close(fd)
		return s.lookThrough(fd, &entry, at)
	case unix.ESRCH:
		p = unknownProcess(pid, errNoProcess)
		p.note(entry.pidfd, said(err))
		return p, s.confirmMissing(&p)
	case unix.ENOENT, unix.EINVAL: // EINVAL on older kernels
		p = unknownProcess(pid, fmt.Errorf("pidfd_open: %w", err))
		p.note(entry.pidfd, said(err))
		return p, entry.confirmThread(&p)
	case unix.ENOSYS, unix.EPERM: // before Linux 5.3; a seccomp filter
		p = unknownProcess(pid, fmt.Errorf("pidfd_open: %w", err))
		p.unread(entry.pidfd, err)
		return p, s.lookWithout(&p, &entry)
	default:
		p = unknownProcess(pid, fmt.Errorf("pidfd_open: %w", err))
		p.unread(entry.pidfd, err)
		return p, true
	}
}

// lookThrough describes the process behind a pidfd.
func (s *linuxSystem) lookThrough(
	fd int, entry *procEntry, at place,
) (p Process, settled bool) {
	pid := entry.pid
	p = unknownProcess(pid, nil)
	p.Readings = make([]Reading, 0, 3)
	p.note(entry.pidfd, "a process has this number")
	p.PIDFD = pidfdInode(fd, entry.fstatFD, at.pidfs)

	st, statErr := entry.stat()
	exited, err := s.pollExited(fd)
	if err != nil {
		p.unread(entry.pollFD, err)
		p.describeOr(st, statErr, entry.statPath)
		return p, true
	}
	if exited {
		p.Presence = Exited
		p.note(entry.pollFD, "all its threads have exited")
		if statErr == nil && !st.deadLeader() {
			st, statErr = entry.stat() // it exited between the two questions
		}
	} else {
		p.Presence = Running
		p.note(entry.pollFD, "has not exited")
	}
	p.describeOr(st, statErr, entry.statPath)
	return p, !vanished(statErr)
}

// lookWithout finds out what kill(2) and /proc can say where there is no pidfd.
func (s *linuxSystem) lookWithout(p *Process, entry *procEntry) (settled bool) {
	source := killSource(p.PID)
	switch err := s.kill(p.PID, 0); err {
	case unix.ESRCH:
		p.note(source, said(err))
		p.Presence = Missing
		return true
	case nil, unix.EPERM:
		p.note(source, "a process or thread has this number")
	default:
		p.unread(source, err)
		return true
	}
	tgid, err := entry.threadGroup()
	if err != nil {
		p.unread(entry.source("status"), err)
		return !vanished(err)
	}
	if tgid != p.PID {
		p.becomeThread(tgid, entry.source("status"))
		return true
	}
	st, err := entry.stat()
	p.describeOr(st, err, entry.statPath)
	switch {
	case err != nil:
		return !vanished(err)
	case st.exited():
		p.Presence = Exited
	default:
		p.Presence = Running
	}
	return true
}

// confirmMissing asks a second time, in another way, before a process is called missing.
func (s *linuxSystem) confirmMissing(p *Process) (settled bool) {
	switch err := s.kill(p.PID, 0); err {
	case unix.ESRCH:
		p.note(killSource(p.PID), said(err))
		p.Presence = Missing
		return true
	case nil, unix.EPERM:
		p.note(killSource(p.PID), "a process or thread has this number")
		return false // a new process, or one of the two answers is made up
	default:
		p.unread(killSource(p.PID), err)
		return true
	}
}

func killSource(pid int) string { return "kill(" + strconv.Itoa(pid) + ", 0)" }

// openPIDFD opens a pidfd. The kernel makes every pidfd close-on-exec.
func (s *linuxSystem) openPIDFD(pid int) (int, error) {
	for {
		fd, err := s.pidfdOpen(pid, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// pollExited reports whether all threads of the process behind a pidfd have exited.
func (s *linuxSystem) pollExited(fd int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		switch n, err := s.poll(fds, 0); {
		case err == unix.EINTR:
		case err != nil:
			return false, err
		case n == 0:
			return false, nil
		case fds[0].Revents&unix.POLLIN != 0:
			return true, nil
		default:
			return false, fmt.Errorf("unexpected events %#x", fds[0].Revents)
		}
	}
}

// pidfdInode returns the inode of a pidfd, which since Linux 6.9 is a serial number that is not
// used again until the next boot. Before, all pidfds shared one inode; and on 32 bits the inode is
// only the lower half of it. device is that of a pidfd known to have an inode of its own: all of
// them are on one filesystem. 0: none is known.
func pidfdInode(fd int, source string, device uint64) Fact[uint64] {
	if strconv.IntSize < 64 {
		return Unknown[uint64](source, errInode32)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return Unknown[uint64](source, err)
	}
	if device == 0 || uint64(stat.Dev) != device {
		st, err := fstatfs(fd)
		if err != nil {
			return Unknown[uint64](source, err)
		}
		if magic(st) != unix.PID_FS_MAGIC {
			return Unknown[uint64](source, errInodeShared)
		}
	}
	return Known(uint64(stat.Ino), source)
}

// describeOr fills in what a stat file says, or why it could not be read.
func (p *Process) describeOr(st procStat, err error, source string) {
	if err == nil {
		p.describe(st, source)
		return
	}
	p.unread(source, err)
	p.State = Unknown[string](source, err)
	p.Threads = Unknown[int](source, err)
	p.Start = Unknown[Start](source, err)
	p.Name = Unknown[string](source, err)
	p.StartedAt = Unknown[time.Time](source, err)
}

func (p *Process) describe(st procStat, source string) {
	word := stateWord(st.state)
	if word == "" {
		p.State = Unknown[string](source, fmt.Errorf("state %q is not a known one", st.state))
		word = "in state " + strconv.QuoteRune(rune(st.state))
	} else {
		p.State = Known(word, source)
	}
	p.Threads = Known(st.threads, source)
	start := Ticks(st.start)
	said := word + ", threads " + strconv.Itoa(st.threads) + ", start " + string(start)
	p.Start = Known(start, source)
	p.Name = Known(st.comm, source)
	p.StartedAt = startedAt(st.start)
	p.note(source, said)
}

// said turns an error that is an answer into the words for it.
func said(err error) string { return err.Error() }
