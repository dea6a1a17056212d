package vfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

const lockOp = "kernel-lock"

// Where the locked byte of the gate is. What is locked cannot be read or written by others, so it
// must be nothing that anybody reads: far behind the end of the file, which is no error.
const (
	lockOffsetLow  = 0xFFFFFFFE
	lockOffsetHigh = 0x7FFFFFFF
)

func lockByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: lockOffsetLow, OffsetHigh: lockOffsetHigh}
}

// Lock of the handle kind is there from the creation of a file to its end, and on no other file.
func (f *osFile) Lock(kind LockKind) error {
	switch kind {
	case LockHandle:
		if !f.own {
			return pathError(lockOp, f.path, errors.New(
				"only the process that made a file keeps it from being removed"))
		}
		return f.on(lockOp, func(windows.Handle) error { return nil })
	case LockRange:
		err := f.on(lockOp, func(h windows.Handle) error {
			if f.held.Load() {
				return nil // as on Unix
			}
			return lockRange(h, true)
		})
		if err == nil {
			f.held.Store(true)
		}
		return err
	}
	return pathError(lockOp, f.path, errKind(kind))
}

// Unlock of the handle kind does nothing: Close does it, and ends it for this process. Processes
// that inherited the handle keep the file, which has no name of interest any more by then.
func (f *osFile) Unlock(kind LockKind) error {
	const op = "kernel-unlock"
	switch kind {
	case LockHandle:
		return f.on(op, func(windows.Handle) error { return nil })
	case LockRange:
		return f.on(op, func(h windows.Handle) error {
			if !f.held.Load() {
				return nil // as on Unix
			}
			err := windows.UnlockFileEx(h, 0, 1, 0, lockByte())
			if err == nil {
				f.held.Store(false)
			}
			return err
		})
	}
	return pathError(op, f.path, errKind(kind))
}

// Locked takes the gate's lock shared for a moment: only an exclusive one is in its way.
func (f *osFile) Locked(kind LockKind) (locked bool, err error) {
	const op = "test the kernel lock of"
	switch kind {
	case LockHandle:
		err = f.on(op, func(h windows.Handle) (err error) {
			if !f.own {
				locked, err = keptByMaker(h)
			}
			return err
		})
		return locked, err
	case LockRange:
		err = f.on(op, func(h windows.Handle) error {
			if f.held.Load() {
				return nil
			}
			err := lockRange(h, false)
			if err == ErrLocked {
				locked = true
				return nil
			}
			if err != nil {
				return err
			}
			return windows.UnlockFileEx(h, 0, 1, 0, lockByte())
		})
		return locked, err
	}
	return false, pathError(op, f.path, errKind(kind))
}

// keptByMaker reports whether somebody has the file open who does not share its removal: whoever
// made it and holds it, or for a moment a scanner, which only makes a dead owner look alive. It
// opens the file for removal, and shares everything. Who may not remove it opens it for reading and
// does not share removal instead: what stands against that is a handle that may remove, as every
// maker has one.
func keptByMaker(h windows.Handle) (bool, error) {
	again, err := ntOpen(h, "", windows.DELETE, shareAll, windows.FILE_OPEN)
	if errors.Is(err, windows.STATUS_ACCESS_DENIED) {
		again, err = ntOpen(h, "", windows.FILE_READ_DATA,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN)
	}
	if errors.Is(err, windows.STATUS_SHARING_VIOLATION) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, windows.CloseHandle(again)
}

// Alone opens the file anew and shares it with nobody, which the system grants only where nobody
// has it open. Then this file is that handle, and nobody else can open the file until Close.
func (f *osFile) Alone() (alone bool, err error) {
	const op = "look who else has open"
	if f.own {
		return false, pathError(op, f.path, errors.ErrUnsupported)
	}
	was, err := f.Stat()
	if err != nil {
		return false, err
	}
	err = f.dir.on(op, f.name, func(dir windows.Handle) error {
		return f.h.replace(func() (windows.Handle, error) {
			h, err := ntOpen(dir, f.name, windows.GENERIC_READ, shareNone, windows.FILE_OPEN)
			if alone = err == nil; errors.Is(err, windows.STATUS_SHARING_VIOLATION) {
				h, err = ntOpen(dir, f.name, windows.GENERIC_READ, shareAll, windows.FILE_OPEN)
			}
			return h, err
		})
	})
	if err != nil {
		return false, err
	}
	now, err := f.Stat()
	if err == nil && !now.SameFile(was) {
		err = pathError(op, f.path, errors.New("another file has its name by now"))
	}
	return alone && err == nil, err
}

func lockRange(h windows.Handle, exclusive bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(h, flags, 0, 1, 0, lockByte())
	switch err {
	case windows.ERROR_LOCK_VIOLATION:
		return ErrLocked
	case windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED:
		return noLocks{unsupported(err.(windows.Errno), "this filesystem has no kernel locks")}
	}
	return err
}

func errKind(kind LockKind) error {
	return fmt.Errorf("no kernel lock of kind %q on this system: %w", kind, errors.ErrUnsupported)
}
