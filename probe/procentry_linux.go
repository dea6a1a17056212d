package probe

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// procEntry is the directory of one process in a /proc of this pid namespace, or the reason why
// there is none. A thread that is not the first of its process has such a directory too.
type procEntry struct {
	pid int
	procNames
	dir directory
	err error
}

// procNames is what the questions about a process are called: of each look, so in one piece.
type procNames struct {
	number                                 string // in digits
	path, statPath, pidfd, fstatFD, pollFD string
}

func namesOf(pid int) procNames {
	const before, stat, open, fstat, poll, end = "/proc/", "/stat", "pidfd_open(",
		"fstat(pidfd of ", "poll(pidfd of ", ")"
	var digits [20]byte
	number := strconv.AppendInt(digits[:0], int64(pid), 10)
	var room [160]byte
	b := room[:0]
	for _, part := range [...]string{stat + open, end + fstat, end + poll} {
		if len(b) == 0 {
			b = append(append(b, before...), number...)
		}
		b = append(append(b, part...), number...)
	}
	all := string(append(b, end...))
	var n procNames
	cut := func(size int) (part string) {
		part, all = all[:size], all[size:]
		return part
	}
	size := len(number)
	n.statPath = cut(len(before) + size + len(stat))
	n.path = n.statPath[:len(before)+size]
	n.number = n.path[len(before):]
	n.pidfd = cut(len(open) + size + len(end))
	n.fstatFD = cut(len(fstat) + size + len(end))
	n.pollFD = cut(len(poll) + size + len(end))
	return n
}

func (s *linuxSystem) openEntry(pid int) procEntry {
	e := procEntry{pid: pid, procNames: namesOf(pid), dir: noDirectory}
	proc, err := openProcFS()
	if err != nil {
		e.err = err
		return e
	}
	defer proc.close()
	if e.err = s.ours(proc); e.err != nil {
		return e
	}
	e.dir, e.err = proc.openDir(e.number)
	return e
}

func (e *procEntry) close() { e.dir.close() }

func (e *procEntry) source(file string) string { return e.path + "/" + file }

// stat reads the stat file. An error that vanished accepts means that the process was reaped, is
// hidden, or was not there yet when the directory was opened.
func (e *procEntry) stat() (procStat, error) {
	if e.err != nil {
		return procStat{}, e.err
	}
	st, err := readStat(e.dir, "stat")
	if err == nil && st.pid != e.pid {
		return procStat{}, fmt.Errorf("%w: this file describes process %d", ErrUntrusted, st.pid)
	}
	return st, err
}

// readStat reads a stat file, and once more where it is empty: some kernels give an empty text for
// a process that is just ending.
func readStat(dir directory, name string) (procStat, error) {
	for again := false; ; again = true {
		st, err := readStatOnce(dir, name)
		if !errors.Is(err, errEmptyStat) || again {
			return st, err
		}
	}
}

// readStatOnce reads with one call, which gives all of a text that is one line and fits.
func readStatOnce(dir directory, name string) (procStat, error) {
	f, err := dir.open(name, unix.O_RDONLY)
	if err != nil {
		return procStat{}, err
	}
	defer f.close()
	var buf [2048]byte
	for {
		n, err := unix.Read(int(f), buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return procStat{}, err
		}
		if n > 0 && buf[n-1] != '\n' {
			return procStat{}, errors.New("cut short")
		}
		return parseStat(buf[:n])
	}
}

// threadGroup returns the number of the process that the entry's thread belongs to.
func (e *procEntry) threadGroup() (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	status, err := e.dir.read("status", nil)
	if err != nil {
		return 0, err
	}
	pid, tgid := statusNumbers(status, "Pid"), statusNumbers(status, "Tgid")
	if len(pid) != 1 || len(tgid) != 1 || pid[0] != e.pid {
		return 0, errors.New("does not name the process and the thread")
	}
	return tgid[0], nil
}

// confirmThread looks whether a number that is not the number of a process belongs to a thread.
func (e *procEntry) confirmThread(p *Process) (settled bool) {
	tgid, err := e.threadGroup()
	switch {
	case err != nil:
		p.unread(e.source("status"), err)
		return !vanished(err)
	case tgid == e.pid:
		p.note(e.source("status"), "a process of its own")
		return false // became one in between, by exec, or one of the two answers is made up
	}
	p.becomeThread(tgid, e.source("status"))
	return true
}
