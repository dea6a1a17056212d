package fence

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/probate-dev/probate/internal/vfs"
)

// kept is a counter file that stays open between calls, for somebody who comes back soon. It is
// lent to one gate at a time: who wants the gate meanwhile opens the file anew, and meets its lock.
type kept struct {
	mu   sync.Mutex
	on   bool     // a file may be kept
	f    vfs.File // nil: none is
	info vfs.Info
	lent bool
}

// Keep makes the Counter keep its file open from the next time that it opens it, until Rest.
func (c *Counter) Keep() {
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.on = true
}

// Rest closes the file that Keep kept open, or lets it be closed when the gate is released. The
// Counter can be used as before.
func (c *Counter) Rest() error {
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on = false
	if k.f == nil || k.lent {
		return nil
	}
	f := k.f
	k.f = nil
	return c.fail("close", f.Close())
}

// borrow returns the kept file for a gate, nil where there is none to be had.
func (k *kept) borrow() (vfs.File, vfs.Info) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.f == nil || k.lent {
		return nil, vfs.Info{}
	}
	k.lent = true
	return k.f, k.info
}

// giveBack takes a file that a gate has used, and keeps or closes it.
func (k *kept) giveBack(f vfs.File, info vfs.Info) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.f == f {
		k.lent = false
	}
	if k.on && (k.f == f || k.f == nil) {
		k.f, k.info = f, info
		return nil
	}
	if k.f == f {
		k.f = nil
	}
	return f.Close()
}

// forget says that a file which may be the kept one was closed.
func (k *kept) forget(f vfs.File) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.f == f {
		k.f, k.lent = nil, false
	}
	return nil
}

// Reading is one look at a counter outside of the gate. A look may meet a write half-way and see
// digits of two numbers: the number counts only if a later look finds the same, see Confirm.
type Reading struct {
	Token Token
	// File is the file that was read.
	File vfs.Info

	c     *Counter
	bytes []byte // in buf[0]
	buf   [2][readSize]byte
}

// Glance looks at the counter once, into r. Unlike Current it fails, with fs.ErrNotExist, where
// there is no file.
func (c *Counter) Glance(r *Reading) error {
	seen := Token(c.seen.Load()) // before the file is read, which may have grown since
	r.c = c
	var err error
	if r.bytes, r.File, err = c.peek(r.buf[0][:]); err == nil {
		r.Token, err = c.judge(r.bytes, seen)
	}
	if err != nil {
		return c.fail("read", notRegular(err))
	}
	return nil
}

// Confirm looks at the counter again, and reports whether it is the same file with the same
// content. If so, Token was the number at some moment in between. Not safe for concurrent use.
func (r *Reading) Confirm() (bool, error) {
	b, info, err := r.c.peek(r.buf[1][:])
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, r.c.fail("read", notRegular(err))
	}
	return info.SameFile(r.File) && bytes.Equal(b, r.bytes), nil
}

// peek reads the file at the name once, through the kept one if that is it. b is in buf, which has
// readSize bytes.
func (c *Counter) peek(buf []byte) (b []byte, info vfs.Info, err error) {
	dir, done, err := c.openDir()
	if err != nil {
		return nil, info, err
	}
	defer done()
	k := &c.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.f != nil {
		info, err := dir.Stat(c.name)
		if errors.Is(err, vfs.ErrInUse) && !k.lent { // removed, and there because it is open here
			_ = k.f.Close()
			k.f = nil
			return c.open(dir, k, buf)
		}
		if err != nil {
			return nil, info, err
		}
		if info.SameFile(k.info) {
			b, err := readSized(k.f, info.Size, buf)
			return b, info, err
		}
		if !k.lent {
			_ = k.f.Close()
			k.f = nil
		}
	}
	return c.open(dir, k, buf)
}

// open reads the file at the name, and keeps it open where that is wanted and it can serve as the
// gate. k is locked.
func (c *Counter) open(
	dir vfs.Dir, k *kept, buf []byte,
) (b []byte, info vfs.Info, err error) {
	access := vfs.Read
	if k.on && k.f == nil {
		access = vfs.ReadWrite
	}
	f, err := dir.Open(c.name, access)
	if access == vfs.ReadWrite && errors.Is(err, fs.ErrPermission) {
		access = vfs.Read // whoever takes the gate gets to know
		f, err = dir.Open(c.name, access)
	}
	if err != nil {
		return nil, info, err
	}
	if info, err = vfs.Opened(f); err == nil {
		b, err = readSized(f, info.Size, buf)
	}
	if err == nil && access == vfs.ReadWrite {
		k.f, k.info = f, info
		return b, info, nil
	}
	return b, info, errors.Join(err, f.Close())
}

// readSized reads a file that was just seen to have that size, with one call where it is a counter.
// What it returns is in buf, which has readSize bytes.
func readSized(f vfs.File, size int64, buf []byte) ([]byte, error) {
	if size <= 0 || size >= readSize {
		size = readSize
	}
	b := buf[:size]
	n, err := f.ReadAt(b, 0)
	if err == io.EOF { // shorter by now
		err = nil
	}
	return b[:n], err
}
