//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxIO is the largest piece of one read or write: some systems refuse more than 2 GiB.
const maxIO = 1 << 30

type osFile struct {
	dir      string // path of its directory
	name     string
	writable bool
	flocked  atomic.Bool // holds its flock: testing it would give it up
	first    Info        // what was seen when it was opened; zero: nothing
	fd       descriptor
}

func (f *osFile) opened() (Info, bool) { return f.first, f.first.Inode != 0 }

// path is for errors.
func (f *osFile) path() string { return join(f.dir, f.name) }

func (f *osFile) Handle() uintptr { return f.fd.handle() }

func (f *osFile) Close() error {
	if err := f.fd.close(); err != nil {
		return pathError("close", f.path(), err)
	}
	return nil
}

func (f *osFile) on(op string, fn func(fd int) error) error {
	if err := f.fd.use(fn); err != nil {
		return pathError(op, f.path(), err)
	}
	return nil
}

func (f *osFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var m int
		err := f.fd.use(func(fd int) (err error) {
			m, err = unix.Pread(fd, p[n:min(len(p), n+maxIO)], off+int64(n))
			return err
		})
		if err != nil {
			return n, pathError("read", f.path(), err)
		}
		if m <= 0 {
			return n, io.EOF
		}
		n += m
		if n < len(p) && f.first.Inode != 0 && off+int64(n) == f.first.Size {
			return n, io.EOF // less than was asked for, and to where the file ended at first
		}
	}
	return n, nil
}

func (f *osFile) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var m int
		err := f.fd.use(func(fd int) (err error) {
			m, err = unix.Pwrite(fd, p[n:min(len(p), n+maxIO)], off+int64(n))
			return err
		})
		if err == nil && m <= 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, pathError("write", f.path(), err)
		}
		n += m
	}
	return n, nil
}

func (f *osFile) Append(p []byte) (n int, err error) {
	for n < len(p) {
		var m int
		err := f.fd.use(func(fd int) (err error) {
			m, err = unix.Write(fd, p[n:min(len(p), n+maxIO)])
			return err
		})
		if err == nil && m <= 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, pathError("append", f.path(), err)
		}
		n += m
	}
	return n, nil
}

func (f *osFile) Stat() (i Info, err error) {
	var st unix.Stat_t
	if err = f.on("stat", func(fd int) error { return unix.Fstat(fd, &st) }); err == nil {
		i.set(&st)
	}
	return i, err
}

func (f *osFile) Chmod(mode fs.FileMode) error {
	return f.on("chmod", func(fd int) error { return unix.Fchmod(fd, uint32(mode.Perm())) })
}

func (f *osFile) Chown(uid, gid int) error {
	return f.on("chown", func(fd int) error { return unix.Fchown(fd, uid, gid) })
}

func (f *osFile) Truncate(size int64) error {
	return f.on("truncate", func(fd int) error { return unix.Ftruncate(fd, size) })
}

func (f *osFile) Sync() error { return f.on("flush", flush) }
