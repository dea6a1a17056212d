package vfs

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

type osFile struct {
	path string
	dir  *osDir
	name string      // when it was opened
	own  bool        // by Create: shares no delete, so that this open file is the kernel lock
	held atomic.Bool // holds the gate, which it would meet in a test
	gone atomic.Bool // its name was removed through it
	h    winHandle
}

func (f *osFile) Handle() uintptr { return f.h.handle() }

func (f *osFile) Close() error {
	if f.own {
		f.dir.renamed(f, "")
	}
	return pathError("close", f.path, f.h.close())
}

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
	if f.gone.Load() {
		in.Links = 0 // the name that it has until it is closed is of no use to anybody
	}
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

// Sync flushes the content, and what the system keeps about the file, its name among that:
// FlushFileBuffers writes "data and metadata", says the documentation of NtFlushBuffersFileEx.
func (f *osFile) Sync() error { return f.on("flush", windows.FlushFileBuffers) }
