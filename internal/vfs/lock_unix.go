//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

const lockOp = "kernel-lock"

func (f *osFile) Lock(kind LockKind) error {
	switch kind {
	case LockOFD:
		if !f.writable { // the kernel says EBADF to that, which would pass for "no locks here"
			return pathError(lockOp, f.path(), errors.New("opened for reading only"))
		}
		return f.on(lockOp, func(fd int) error { return lockError(ofdLock(fd)) })
	case LockFlock:
		return f.on(lockOp, func(fd int) error {
			err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
			if err == nil {
				f.flocked.Store(true)
			}
			return lockError(err)
		})
	}
	return pathError(lockOp, f.path(), errKind(kind))
}

func (f *osFile) Unlock(kind LockKind) error {
	const op = "kernel-unlock"
	switch kind {
	case LockOFD:
		return f.on(op, func(fd int) error { return lockError(ofdUnlock(fd)) })
	case LockFlock:
		return f.on(op, func(fd int) error {
			err := unix.Flock(fd, unix.LOCK_UN)
			if err == nil {
				f.flocked.Store(false)
			}
			return lockError(err)
		})
	}
	return pathError(op, f.path(), errKind(kind))
}

func (f *osFile) Locked(kind LockKind) (locked bool, err error) {
	const op = "test the kernel lock of"
	switch kind {
	case LockOFD:
		err = f.on(op, func(fd int) (err error) {
			locked, err = ofdLocked(fd)
			return lockError(err)
		})
		return locked, err
	case LockFlock:
		if f.flocked.Load() {
			return false, nil // ours, so nobody else's; a shared lock would replace it
		}
		err = f.on(op, func(fd int) error {
			// The shared lock stands for a moment only, and only owners are in its way.
			err := lockError(unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB))
			if err == ErrLocked {
				locked = true
				return nil
			}
			if err != nil {
				return err
			}
			return lockError(retry(func() error { return unix.Flock(fd, unix.LOCK_UN) }))
		})
		return locked, err
	}
	return false, pathError(op, f.path(), errKind(kind))
}

func (f *osFile) Alone() (is bool, err error) {
	err = f.on("look who else has open", func(fd int) (err error) {
		is, err = alone(fd)
		return err
	})
	return is, err
}

func errKind(kind LockKind) error {
	return fmt.Errorf("no kernel lock of kind %q on this system: %w", kind, errors.ErrUnsupported)
}

// lockError sorts what the lock calls answer: held by another, or no locks on this filesystem, or
// an error. Never one boolean for all of them.
func lockError(err error) error {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return err
	}
	switch {
	// POSIX allows EACCES too; none of these systems says that for a conflict
	case errno == unix.EAGAIN:
		return ErrLocked
	case errno == unix.ENOLCK, errno == unix.EBADF, errno == unix.EINVAL,
		errors.Is(errno, errors.ErrUnsupported):
		return noLocks{unsupported(errno, "this filesystem has no kernel locks")}
	}
	return err
}
