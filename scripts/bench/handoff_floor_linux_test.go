package bench

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// The system calls with which Probate hands a lock on, in the same order, without a library around
// them: a waiter has a record ready, sleeps in the kernel until the owner's is removed, and
// publishes its own. Nobody dies here, and nobody stands in a queue.

func init() { blocking["calls"] = bareWaiter }

// bareOnce makes the counter, and is for the whole process.
var bareOnce sync.Once

func bareWaiter(path string) (release func() error, err error) {
	dir := filepath.Dir(path)
	bareOnce.Do(func() {
		counter := []byte("00000000000000000000\n")
		err = os.WriteFile(filepath.Join(dir, "state.fence"), counter, 0o600)
	})
	if err != nil {
		return nil, err
	}
	c := &calls{}
	d := c.openDir(dir)
	gate := c.open(d, "state.fence", unix.O_RDWR)
	r, err := unix.Openat(d, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	c.do("create", err)
	c.lock(r, unix.F_WRLCK)
	c.write(r, make([]byte, recordSize))
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	c.do("pidfd_open", err)
	events, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	c.do("inotify_init", err)
	for c.err == nil {
		err := unix.Linkat(r, "", d, "state.lock", unix.AT_EMPTY_PATH)
		if err == nil {
			break
		}
		if err != unix.EEXIST {
			c.do("link", err)
		}
		c.awaitRemoval(events, d, filepath.Join(dir, "state.lock"))
		c.write(r, make([]byte, len("2006-01-02T15:04:05.000Z")))
	}
	c.stat(d, "state.fence")
	c.read(gate, counterSize)
	return func() error {
		unix.Getpid()
		c.fstat(self)
		// The one before may still be about to leave the gate.
		c.do("gate", unix.FcntlFlock(uintptr(gate), unix.F_OFD_SETLKW,
			&unix.Flock_t{Type: unix.F_WRLCK}))
		c.stat(d, "state.fence")
		c.stat(d, "state.lock")
		c.read(r, recordSize)
		c.do("unlink", unix.Unlinkat(d, "state.lock", 0))
		c.lock(r, unix.F_UNLCK)
		c.close(r)
		c.lock(gate, unix.F_UNLCK)
		for _, fd := range []int{gate, d, self} {
			c.close(fd)
		}
		go unix.Close(events) // takes the kernel milliseconds
		return c.err
	}, c.err
}

// awaitRemoval sleeps until the record that stands at path is removed, or something else happens
// to it. What one that stood there before still has to tell wakes for nothing.
func (c *calls) awaitRemoval(events, dir int, path string) {
	_, err := unix.InotifyAddWatch(events, path, unix.IN_ATTRIB|unix.IN_DELETE_SELF)
	if err == unix.ENOENT || unix.Fstatat(dir, "state.lock", &c.st, 0) == unix.ENOENT {
		return // it was removed before it was watched
	}
	c.do("inotify_add_watch", err)
	for c.err == nil {
		if _, err = unix.Read(events, c.buf[:]); err != unix.EINTR {
			c.do("read", err)
			return
		}
	}
}
