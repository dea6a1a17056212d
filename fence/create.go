package fence

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/probate-dev/probate/internal/vfs"
)

// create makes the missing file, complete before it has its name, and returns its gate: the kernel
// lock is taken before the file has a name, so nobody can be inside before the number was looked at
// once more (it was found outside of any gate, and may be out of date if the file was made, used
// and deleted meanwhile). A nil gate without an error says that somebody else made the file, or
// that the temporary one was swept away, and that the name is worth another look.
func (c *Counter) create(dir vfs.Dir) (*fileGate, error) {
	start, err := c.floor()
	if err != nil {
		return nil, err
	}
	f, err := c.createUnnamed(dir, start)
	if errors.Is(err, errors.ErrUnsupported) {
		f, err = c.createNamed(dir, start)
	}
	if err != nil && f != nil { // all but a left-over
		f.Close()
	}
	if err != nil || f == nil {
		return nil, c.fail("create", err)
	}
	g := &fileGate{c: c, dir: dir, f: f, made: true}
	if g.info, err = f.Stat(); err == nil {
		err = c.flushName(dir, g.info)
	}
	if err != nil {
		g.close()
		return nil, c.fail("create", err)
	}
	return g, nil
}

// lock takes the kernel lock of a file, or does without where there is none and that is accepted.
// False: somebody else has it.
func (c *Counter) lock(f vfs.File) (bool, error) {
	err := f.Lock(vfs.GateLock())
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return false, nil
	case errors.Is(err, errors.ErrUnsupported) && c.opts.WithoutKernelLock:
		return true, nil
	}
	return err == nil, err
}

// madeError says that somebody else made the file meanwhile, or swept the temporary away: look
// again.
type madeError struct{ err error }

func (e *madeError) Error() string { return e.err.Error() }
func (e *madeError) Unwrap() error { return e.err }

func (c *Counter) createUnnamed(dir vfs.Dir, start Token) (_ vfs.File, err error) {
	f, err := dir.CreateUnnamed(c.mode())
	if err != nil {
		return nil, err
	}
	if ok, err := c.lock(f); !ok {
		return nil, errors.Join(err, f.Close())
	}
	if err := c.fill(f, start); err != nil {
		f.Close()
		return nil, err
	}
	err = dir.LinkUnnamed(f, c.name)
	if err == nil {
		return f, nil
	}
	f.Close()
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, &madeError{err}
	case vfs.NoLinks(err):
		// A security module may forbid this way and allow the other, which meets real trouble
		// again.
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return nil, err
}

func (c *Counter) createNamed(dir vfs.Dir, start Token) (_ vfs.File, err error) {
	temp := c.tempName()
	f, err := dir.Create(temp, c.mode())
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	renamed, published := false, false
	defer func() {
		if !renamed {
			if e := dir.Remove(temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		if !published {
			f.Close()
		}
	}()
	if ok, err := c.lock(f); !ok { // somebody sweeps it away at this moment
		return nil, err
	}
	if err := c.fill(f, start); err != nil {
		return nil, err
	}
	err = dir.RenameNoReplace(temp, c.name)
	renamed = err == nil
	noRename, noLinks := errors.Is(err, errors.ErrUnsupported), false
	if noRename {
		err = dir.Link(temp, c.name)
		noLinks = vfs.NoLinks(err)
	}
	switch {
	case err == nil:
		published = true
		return f, nil
	case noLinks:
		return c.createInPlace(dir, start)
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // taken, or swept away
		return nil, &madeError{err}
	}
	return nil, err
}

// createInPlace is for filesystems that can neither link nor rename without replacing: for a moment
// the file is empty under its own name. Who sees it then calls it damaged, or repairs it from the
// floor.
func (c *Counter) createInPlace(dir vfs.Dir, start Token) (vfs.File, error) {
	f, err := dir.Create(c.name, c.mode())
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := c.lock(f)
	if err == nil && !ok { // somebody was faster, and repairs
		return nil, f.Close()
	}
	if err == nil {
		err = c.fill(f, start)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Remove(c.name), f.Close())
	}
	return f, nil
}

// fill makes a new file complete and durable.
func (c *Counter) fill(f vfs.File, start Token) error {
	if _, uid, gid := c.owner(); uid != -1 || gid != -1 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if uid != -1 && uid != info.UID || gid != -1 && gid != info.GID {
			if err := f.Chown(uid, gid); err != nil && !vfs.NotOurs(err) {
				return err
			}
		}
	}
	if _, err := f.WriteAt(encode(start), 0); err != nil {
		return err
	}
	return f.Sync()
}

func (c *Counter) mode() fs.FileMode {
	mode, _, _ := c.owner()
	return mode
}

// owner returns what a new file gets.
func (c *Counter) owner() (mode fs.FileMode, uid, gid int) {
	opts := c.options()
	mode, uid, gid = opts.Mode, opts.UID, opts.GID
	if opts.Inherit != nil {
		mode, uid, gid = opts.Inherit()
	}
	if mode == 0 {
		mode = 0o600
	}
	return mode, uid, gid
}

func (c *Counter) tempName() string {
	if name := c.options().TempName; name != nil {
		return name()
	}
	var b [8]byte
	rand.Read(b[:])
	return c.name + "." + hex.EncodeToString(b[:]) + ".tmp"
}
