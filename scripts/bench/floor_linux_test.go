package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The system calls that Probate makes, in the same order, without a library around them: what is
// above them in the table is the cost of the code. strace shows that they are the same.

func init() {
	floor.acquire = []side{{"calls", acquireCalls}}
	floor.commit = []side{{"calls", commitCalls}}
	floor.inspect = []side{{"calls", inspectCalls}}
}

// processorTime returns what this process has used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// calls makes system calls until one fails.
type calls struct {
	err error
	st  unix.Stat_t
	fs  unix.Statfs_t
	ts  unix.Timespec
	uts unix.Utsname
	stx unix.Statx_t
	buf [2048]byte
}

func (c *calls) do(name string, err error) {
	if err != nil && c.err == nil {
		c.err = errors.New(name + ": " + err.Error())
	}
}

func (c *calls) fd(name string, fd int, err error) int { c.do(name, err); return fd }

// absent looks at a name that must not be there.
func (c *calls) absent(dir int, name string) {
	if err := unix.Fstatat(dir, name, &c.st, unix.AT_SYMLINK_NOFOLLOW); err != unix.ENOENT {
		c.do("stat", errors.New(name+" is there"))
	}
}

func (c *calls) stat(dir int, name string) {
	c.do("stat "+name, unix.Fstatat(dir, name, &c.st, unix.AT_SYMLINK_NOFOLLOW))
}

func (c *calls) fstat(fd int) { c.do("fstat", unix.Fstat(fd, &c.st)) }

func (c *calls) read(fd, n int) {
	_, err := unix.Pread(fd, c.buf[:n], 0)
	c.do("pread", err)
}

func (c *calls) write(fd int, b []byte) {
	_, err := unix.Pwrite(fd, b, 0)
	c.do("pwrite", err)
}

func (c *calls) lock(fd int, kind int16) {
	c.do("lock", unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind}))
}

func (c *calls) close(fd int) { c.do("close", unix.Close(fd)) }

func (c *calls) openDir(dir string) int {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return c.fd("open", fd, err)
}

// open opens a regular file: it looks, opens, and looks again.
func (c *calls) open(dir int, name string, flags int) int {
	c.stat(dir, name)
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, 0)
	fd = c.fd("open", fd, err)
	c.fstat(fd)
	return fd
}

const (
	counterSize = 21
	recordSize  = 560 // about that of a record
)

func makeCounter(b *testing.B, dir string) {
	counter := []byte("00000000000000000000\n")
	if err := os.WriteFile(filepath.Join(dir, "state.fence"), counter, 0o600); err != nil {
		b.Fatal(err)
	}
}

func acquireCalls(b *testing.B, dir string) func() error {
	makeCounter(b, dir)
	record := make([]byte, recordSize)
	c := &calls{}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	c.do("pidfd_open", err)
	b.Cleanup(func() { unix.Close(self) })
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS}
	return func() error {
		d, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
		c.do("openat2", err)
		c.absent(d, "state")
		gate := c.open(d, "state.fence", unix.O_RDWR)
		c.read(gate, counterSize)
		flags := unix.O_TMPFILE | unix.O_RDWR | unix.O_CLOEXEC
		r, err := unix.Openat(d, ".", flags, 0o600)
		c.do("create", err)
		mask := unix.STATX_BASIC_STATS | unix.STATX_MNT_ID_UNIQUE
		c.do("statx", unix.Statx(r, "", unix.AT_EMPTY_PATH, mask, &c.stx))
		c.lock(r, unix.F_WRLCK)
		c.fstat(self)
		c.do("uname", unix.Uname(&c.uts))
		c.write(r, record)
		c.do("link", unix.Linkat(r, "", d, "state.lock", unix.AT_EMPTY_PATH))
		c.stat(d, "state.fence")
		c.read(gate, counterSize)

		c.fstat(self)
		c.lock(gate, unix.F_WRLCK)
		c.stat(d, "state.fence")
		c.stat(d, "state.lock")
		c.read(r, recordSize)
		c.do("unlink", unix.Unlinkat(d, "state.lock", 0))
		c.close(r)
		c.close(d)
		c.lock(gate, unix.F_UNLCK)
		c.close(gate)
		return c.err
	}
}

// commitCalls is a durable replace by somebody who has no lock.
func commitCalls(b *testing.B, dir string) func() error {
	data := make([]byte, 4096)
	c := &calls{}
	return func() error {
		d := c.openDir(dir)
		flags := unix.O_CREAT | unix.O_EXCL | unix.O_RDWR | unix.O_CLOEXEC
		fd, err := unix.Openat(d, "state.tmp", flags, 0o600)
		c.do("create", err)
		c.write(fd, data)
		c.do("fsync", unix.Fsync(fd))
		c.do("rename", unix.Renameat(d, "state.tmp", d, "state"))
		c.close(fd)
		c.do("fsync", unix.Fsync(d))
		c.close(d)
		return c.err
	}
}

// inspectCalls judges the record of a holder.
func inspectCalls(b *testing.B, dir string) func() error {
	holder := startHolder(b, filepath.Join(dir, "state"))
	pid := holder.cmd.Process.Pid
	c := &calls{}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	c.do("pidfd_open", err)
	b.Cleanup(func() { unix.Close(self) })
	entryName := "/proc/" + strconv.Itoa(pid)
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS}
	fds := make([]unix.PollFd, 1)
	return func() error {
		d, err := unix.Openat2(unix.AT_FDCWD, dir, &how)
		c.do("open", err)
		c.absent(d, "state")
		c.do("fstatfs", unix.Fstatfs(d, &c.fs))
		r := c.open(d, "state.lock", unix.O_RDONLY)
		c.read(r, 2048)
		lk := unix.Flock_t{Type: unix.F_RDLCK}
		c.do("test", unix.FcntlFlock(uintptr(r), unix.F_OFD_GETLK, &lk))
		c.stat(d, "state.lock")
		c.close(r)

		c.fstat(self)
		entry, err := unix.Open(entryName, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		c.do("open the process", err)
		mask := unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE
		c.do("statx", unix.Statx(entry, "", unix.AT_EMPTY_PATH, mask, &c.stx))
		pidfd, err := unix.PidfdOpen(pid, 0)
		c.do("pidfd_open", err)
		c.fstat(pidfd)
		stat, err := unix.Openat(entry, "stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		c.do("open stat", err)
		_, err = unix.Read(stat, c.buf[:])
		c.do("read stat", err)
		c.close(stat)
		fds[0] = unix.PollFd{Fd: int32(pidfd), Events: unix.POLLIN}
		for _, err = unix.Poll(fds, 0); err == unix.EINTR; { // the runtime wants to schedule
			_, err = unix.Poll(fds, 0)
		}
		c.do("poll", err)
		c.close(pidfd)
		c.close(entry)

		gate := c.open(d, "state.fence", unix.O_RDONLY)
		c.read(gate, counterSize)
		c.read(gate, counterSize)
		c.close(gate)
		c.names(d)
		c.close(d)
		return c.err
	}
}

// names reads the directory, as it is looked through for traces of others.
func (c *calls) names(dir int) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	c.do("open", err)
	for n := 1; n > 0 && c.err == nil; {
		n, err = unix.ReadDirent(fd, c.buf[:])
		c.do("getdents", err)
	}
	c.close(fd)
}
