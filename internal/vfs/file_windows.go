package vfs

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lockOffset is where the locked byte is. Locks on Windows keep others from reading what is locked,
// so it must be nothing that anybody reads.
const (
	lockOffsetLow  = 0xFFFFFFFE
	lockOffsetHigh = 0x7FFFFFFF
)

type osFile struct {
	path string
	held atomic.Bool // holds its kernel lock, which it would meet in a test
	h    winHandle
}

func (f *osFile) Handle() uintptr { return f.h.handle() }
func (f *osFile) Close() error    { return pathError("close", f.path, f.h.close()) }

func (f *osFile) on(op string, fn func(h windows.Handle) error) error {
	return pathError(op, f.path, f.h.use(fn))
}

func at(off int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(off), OffsetHigh: uint32(off >> 32)}
}

func (f *osFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var m uint32
		err := f.on("read", func(h windows.Handle) error {
			err := windows.ReadFile(h, p[n:min(len(p), n+1<<30)], &m, at(off+int64(n)))
			if err == windows.ERROR_HANDLE_EOF {
				err = nil
			}
			return err
		})
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
		n += int(m)
	}
	return n, nil
}

func (f *osFile) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var m uint32
		err := f.on("write", func(h windows.Handle) error {
			err := windows.WriteFile(h, p[n:min(len(p), n+1<<30)], &m, at(off+int64(n)))
			if err == nil && m == 0 {
				err = io.ErrShortWrite
			}
			return err
		})
		if err != nil {
			return n, err
		}
		n += int(m)
	}
	return n, nil
}

// Alone comes with the Windows work of the protocol: an open without sharing succeeds.
func (f *osFile) Alone() (bool, error) {
	return false, pathError("look who else has open", f.path, errors.ErrUnsupported)
}

func (f *osFile) Append(p []byte) (n int, err error) {
	for n < len(p) {
		var m uint32
		err := f.h.use(func(h windows.Handle) error {
			// This offset means the end of the file.
			end := windows.Overlapped{Offset: 0xffffffff, OffsetHigh: 0xffffffff}
			return windows.WriteFile(h, p[n:], &m, &end)
		})
		if err == nil && m == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, pathError("append", f.path, err)
		}
		n += int(m)
	}
	return n, nil
}

func (f *osFile) Stat() (in Info, err error) {
	err = f.on("stat", func(h windows.Handle) (err error) {
		in, err = infoOf(h)
		return err
	})
	return in, err
}

// Chmod knows one bit: who may write.
func (f *osFile) Chmod(mode fs.FileMode) error {
	return f.on("chmod", func(h windows.Handle) error {
		var b struct { // FILE_BASIC_INFO; zero times stay as they are
			Times      [4]int64
			Attributes uint32
			_          uint32
		}
		b.Attributes = windows.FILE_ATTRIBUTE_NORMAL
		if mode&0o200 == 0 {
			b.Attributes = windows.FILE_ATTRIBUTE_READONLY
		}
		return windows.SetFileInformationByHandle(
			h,
			windows.FileBasicInfo,
			(*byte)(unsafe.Pointer(&b)),
			uint32(unsafe.Sizeof(b)),
		)
	})
}

func (f *osFile) Chown(int, int) error {
	return pathError("chown", f.path, errors.ErrUnsupported)
}

func (f *osFile) Truncate(size int64) error {
	return f.on("truncate", func(h windows.Handle) error {
		return windows.SetFileInformationByHandle(h, windows.FileEndOfFileInfo,
			(*byte)(unsafe.Pointer(&size)), uint32(unsafe.Sizeof(size)))
	})
}

func (f *osFile) Sync() error { return f.on("flush", windows.FlushFileBuffers) }

func lockByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: lockOffsetLow, OffsetHigh: lockOffsetHigh}
}

func (f *osFile) Lock(kind LockKind) error {
	err := f.on("kernel-lock", func(h windows.Handle) error {
		if f.held.Load() {
			return nil // as on Unix
		}
		return lockFile(h, kind, true)
	})
	if err == nil {
		f.held.Store(true)
	}
	return err
}

func (f *osFile) Unlock(kind LockKind) error {
	return f.on("kernel-unlock", func(h windows.Handle) error {
		if kind != nativeLock {
			return errors.ErrUnsupported
		}
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

// Locked takes the lock shared for a moment: only an exclusive one is in its way.
func (f *osFile) Locked(kind LockKind) (locked bool, err error) {
	err = f.on("test the kernel lock of", func(h windows.Handle) error {
		if f.held.Load() {
			return nil
		}
		err := lockFile(h, kind, false)
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

func lockFile(h windows.Handle, kind LockKind, exclusive bool) error {
	if kind != nativeLock {
		return errors.ErrUnsupported
	}
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(h, flags, 0, 1, 0, lockByte())
	switch err {
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return ErrLocked
	case windows.ERROR_INVALID_FUNCTION:
		return unsupported(windows.ERROR_INVALID_FUNCTION, "this filesystem has no kernel locks")
	}
	return err
}
