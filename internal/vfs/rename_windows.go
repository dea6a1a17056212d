package vfs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/windows"
)

// withDelete runs fn on a handle of name that may rename and remove: of the file's maker, which is
// f then, or one that is opened for it.
func (d *osDir) withDelete(dir windows.Handle, name string,
	fn func(h windows.Handle, f *osFile) error) error {
	if f := d.owned(name); f != nil {
		err := f.h.use(func(h windows.Handle) error { return fn(h, f) })
		if err != os.ErrClosed {
			return err
		}
	}
	h, err := ntOpen(dir, name, windows.DELETE|windows.FILE_READ_ATTRIBUTES, shareAll,
		windows.FILE_OPEN)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return fn(h, nil)
}

func (d *osDir) RenameNoReplace(old, new string) error {
	return d.on2("rename without replacing", old, new, func(dir windows.Handle) error {
		return waitOut(inUse, func() error { return d.rename(dir, old, new, false) })
	})
}

func (d *osDir) rename(dir windows.Handle, old, new string, replace bool) error {
	return d.withDelete(dir, old, func(h windows.Handle, f *osFile) error {
		err := ntRename(h, dir, new, replace)
		if err == nil {
			d.toFlush(old, new)
			if f != nil {
				d.renamed(f, new)
			}
		}
		return err
	})
}

func (d *osDir) toFlush(old, new string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unflushed, old)
	d.unflushed[new] = true
}

func (d *osDir) Rename(old, new string) error {
	return d.on2("rename", old, new, func(dir windows.Handle) error {
		return waitOut(inUseOrDenied, func() error { return d.rename(dir, old, new, true) })
	})
}

func (d *osDir) Remove(name string) error {
	return d.on("remove", name, func(dir windows.Handle) error {
		return waitOut(inUse, func() error { return d.remove(dir, name) })
	})
}

func (d *osDir) remove(dir windows.Handle, name string) error {
	return d.withDelete(dir, name, func(h windows.Handle, f *osFile) error {
		if in, err := infoOf(h); err == nil && in.Mode.IsDir() {
			return windows.ERROR_DIRECTORY_NOT_SUPPORTED
		}
		aside := func() error { return ntRename(h, dir, asideName(name), false) }
		if f == nil {
			return ntDelete(h, aside)
		}
		return d.removeOwn(name, h, f, aside)
	})
}

// removeOwn removes a file through the handle of its maker. Others may have this very handle, by
// inheritance, and while they do it stands at some name: another one than this, from now on.
func (d *osDir) removeOwn(name string, h windows.Handle, f *osFile, aside func() error) error {
	moved := !strings.HasSuffix(name, asideSuffix) && aside() == nil
	err := ntDelete(h, func() error { return nil })
	if moved {
		err = nil // the name is free; whoever sweeps removes the other one once it is closed
	}
	if err == nil {
		f.gone.Store(true)
		d.renamed(f, "")
	}
	return err
}

const asideSuffix = ".tmp"

// asideName is where a file goes that is being removed while others may have it open.
func asideName(name string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return name + "." + hex.EncodeToString(b[:]) + asideSuffix
}

// TakeOut opens the file for removal and shares it with nobody, which the system grants only where
// nobody has it open, for whatever: those apart that can neither read, write nor remove.
func (d *osDir) TakeOut(name, to string, is func(File) (bool, error)) (done bool, err error) {
	var f *osFile
	err = waitOut(inUse, func() (err error) {
		f, err = d.open("take out", name, windows.GENERIC_READ|windows.DELETE, shareNone,
			windows.FILE_OPEN, anything)
		return err
	})
	if err != nil {
		return false, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if yes, err := is(f); !yes {
		return false, err
	}
	if to == "" {
		err = d.on("remove", name, func(dir windows.Handle) error {
			return f.h.use(func(h windows.Handle) error {
				return ntDelete(h, func() error {
					return ntRename(h, dir, asideName(name), false)
				})
			})
		})
	} else {
		err = d.on2("rename without replacing", name, to, func(dir windows.Handle) error {
			return f.h.use(func(h windows.Handle) error { return ntRename(h, dir, to, false) })
		})
	}
	return err == nil, err
}

// Sync flushes the files that got their names from this Dir since the last time: a directory cannot
// be flushed, and what FlushFileBuffers writes of a file are "data and metadata" (documentation of
// NtFlushBuffersFileEx), its name among that. Removals are not flushed: what comes back after a
// power cut is what a crash leaves.
func (d *osDir) Sync() error {
	d.mu.Lock()
	names := slices.Collect(maps.Keys(d.unflushed))
	d.mu.Unlock()
	err := d.h.use(func(dir windows.Handle) error {
		for _, name := range names {
			if err := d.flush(dir, name); err != nil {
				return err
			}
			d.mu.Lock()
			delete(d.unflushed, name)
			d.mu.Unlock()
		}
		return nil
	})
	return pathError("flush the names in", d.path, err)
}

func (d *osDir) flush(dir windows.Handle, name string) error {
	if f := d.owned(name); f != nil {
		if err := f.h.use(windows.FlushFileBuffers); err != os.ErrClosed {
			return err
		}
	}
	var h windows.Handle
	err := waitOut(inUse, func() (err error) {
		h, err = ntOpen(dir, name, windows.GENERIC_WRITE, shareAll, windows.FILE_OPEN)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it has lost its name again
	case errors.Is(err, windows.STATUS_ACCESS_DENIED): // read-only files
		return unsupported(windows.ERROR_ACCESS_DENIED, "a name that cannot be flushed: "+name)
	case err != nil:
		return err
	}
	defer windows.CloseHandle(h)
	return windows.FlushFileBuffers(h)
}
