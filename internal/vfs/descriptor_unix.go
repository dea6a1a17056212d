//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// patience bounds how often a call is repeated after EINTR, so that a filesystem that answers
// nothing else ends in an error and not in a loop.
const patience = 100

func retry(fn func() error) error {
	var err error
	for range patience {
		if err = fn(); err != unix.EINTR {
			return err
		}
	}
	return err
}

// descriptor is a raw file descriptor. It is not an *os.File: the poller of the runtime would make
// the open file description non-blocking, which children inherit, and a finalizer would give up
// kernel locks behind the caller's back. The lock keeps calls away from a number that was closed
// and given out again.
type descriptor struct {
	mu     sync.RWMutex
	fd     int                 // -1 when closed, parked for a while
	unpark func() (int, error) // opens it again; nil: it is never parked
}

// parked is the number of a descriptor that is let go for a while.
const parked = -2

func (d *descriptor) use(fn func(fd int) error) error {
	err := d.hold()
	if err != nil {
		return err
	}
	err = fn(d.fd)
	for again := 1; err == unix.EINTR && again < patience; again++ {
		err = fn(d.fd)
	}
	d.mu.RUnlock()
	return err
}

// hold locks d for reading, with fd open, until d.mu.RUnlock.
func (d *descriptor) hold() error {
	for {
		d.mu.RLock()
		if d.fd >= 0 {
			return nil
		}
		closed := d.fd != parked
		d.mu.RUnlock()
		if closed {
			return os.ErrClosed
		}
		d.mu.Lock()
		if d.fd == parked {
			fd, err := d.unpark()
			if err != nil {
				d.mu.Unlock()
				return err
			}
			d.fd = fd
		}
		d.mu.Unlock()
	}
}

func (d *descriptor) handle() uintptr {
	if d.hold() != nil {
		return ^uintptr(0)
	}
	defer d.mu.RUnlock()
	return uintptr(d.fd)
}

func (d *descriptor) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	fd := d.fd
	if fd == parked {
		d.fd = -1
		return nil
	}
	if fd < 0 {
		return os.ErrClosed
	}
	d.fd = -1
	// Not repeated after EINTR: the number is free already and may be somebody else's.
	if err := unix.Close(fd); err != nil && err != unix.EINTR {
		return err
	}
	return nil
}
