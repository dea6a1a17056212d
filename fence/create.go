package fence

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"

	"github.com/probate-dev/probate/internal/vfs"
)

// create makes the missing file, complete before it has its name. It reports whether this call made
// it: false without an error says that somebody else did, or that the temporary file was swept away,
// and that the name is worth another look.
func (c *Counter) create(dir vfs.Dir) (made bool, err error) {
	start, err := c.floor()
	if err != nil {
		return false, err
	}
	made, err = c.createUnnamed(dir, start)
	if errors.Is(err, errors.ErrUnsupported) {
		made, err = c.createNamed(dir, start)
	}
	if err == nil && made {
		err = flushDir(dir)
	}
	return made, fail("create", c.path, err)
}

func (c *Counter) createUnnamed(dir vfs.Dir, start Token) (made bool, err error) {
	f, err := dir.CreateUnnamed(c.mode())
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := c.fill(f, start); err != nil {
		return false, err
	}
	err = dir.LinkUnnamed(f, c.name)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

func (c *Counter) createNamed(dir vfs.Dir, start Token) (made bool, err error) {
	temp := c.tempName()
	f, err := dir.Create(temp, c.mode())
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	remove := true
	defer func() {
		if remove {
			if e := dir.Remove(temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	if !c.opts.WithoutKernelLock {
		switch err := f.Lock(vfs.NativeLock()); {
		case errors.Is(err, vfs.ErrLocked): // somebody sweeps it away at this moment
			return false, nil
		case err != nil:
			return false, err
		}
	}
	if err := c.fill(f, start); err != nil {
		return false, err
	}
	err = dir.RenameNoReplace(temp, c.name)
	switch {
	case err == nil:
		remove = false
	case errors.Is(err, errors.ErrUnsupported):
		err = dir.Link(temp, c.name)
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, errors.ErrUnsupported):
		return c.createInPlace(dir, start)
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // taken, or swept away
		return false, nil
	}
	return false, err
}

// createInPlace is for filesystems that can neither link nor rename without replacing: for a moment the
// file is empty under its own name. Who sees it then calls it damaged, or repairs it from the floor.
func (c *Counter) createInPlace(dir vfs.Dir, start Token) (made bool, err error) {
	f, err := dir.Create(c.name, c.mode())
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !c.opts.WithoutKernelLock {
		switch err := f.Lock(vfs.NativeLock()); {
		case errors.Is(err, vfs.ErrLocked): // somebody was faster, and repairs
			return false, nil
		case err != nil:
			return false, errors.Join(err, dir.Remove(c.name))
		}
	}
	if err := c.fill(f, start); err != nil {
		return false, errors.Join(err, dir.Remove(c.name))
	}
	return true, nil
}

// fill makes a new file complete and durable.
func (c *Counter) fill(f vfs.File, start Token) error {
	if c.opts.UID != -1 || c.opts.GID != -1 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if c.opts.UID != -1 && c.opts.UID != info.UID || c.opts.GID != -1 && c.opts.GID != info.GID {
			if err := f.Chown(c.opts.UID, c.opts.GID); err != nil {
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
	if c.opts.Mode == 0 {
		return 0o600
	}
	return c.opts.Mode
}

func (c *Counter) tempName() string {
	if c.opts.TempName != nil {
		return c.opts.TempName()
	}
	var b [8]byte
	rand.Read(b[:])
	return c.name + "." + hex.EncodeToString(b[:]) + ".tmp"
}
