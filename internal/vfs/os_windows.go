package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/windows"
)

// This is the straightforward Windows implementation: correct, by name, and the kernel lock is one
// locked byte far behind the end of the file. Owners that keep their record open without delete
// sharing, renaming and deleting by handle, and the bounded retry of sharing violations come with
// the Windows work of the protocol (lockfile/DESIGN.md, section 9).

const nativeLock = LockHandle

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

type winHandle struct {
	mu sync.RWMutex
	h  windows.Handle
}

func (w *winHandle) use(fn func(h windows.Handle) error) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.h == windows.InvalidHandle {
		return os.ErrClosed
	}
	return fn(w.h)
}

func (w *winHandle) handle() uintptr {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return uintptr(w.h)
}

func (w *winHandle) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.h == windows.InvalidHandle {
		return os.ErrClosed
	}
	h := w.h
	w.h = windows.InvalidHandle
	return windows.CloseHandle(h)
}

// createFile never follows a link and never inherits.
func createFile(path string, access, share, disposition uint32) (windows.Handle, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return windows.InvalidHandle, err
	}
	// With backup semantics directories open too, and are told apart by what they are.
	return windows.CreateFile(p, access, share, nil, disposition, windows.FILE_ATTRIBUTE_NORMAL|
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
}

func infoOf(h windows.Handle) (Info, error) {
	if t, err := windows.GetFileType(h); err != nil {
		return Info{}, err
	} else if t != windows.FILE_TYPE_DISK {
		return Info{Mode: fs.ModeDevice, UID: -1, GID: -1}, nil
	}
	var b windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &b); err != nil {
		return Info{}, err
	}
	mode := fs.FileMode(0o666)
	if b.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		mode = 0o444
	}
	switch {
	case b.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		mode |= fs.ModeSymlink // or a mount point, or a placeholder: no plain file
	case b.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		mode |= fs.ModeDir
	case b.FileAttributes&windows.FILE_ATTRIBUTE_DEVICE != 0:
		mode |= fs.ModeDevice
	}
	return Info{
		Device: uint64(b.VolumeSerialNumber),
		Inode:  uint64(b.FileIndexHigh)<<32 | uint64(b.FileIndexLow),
		Mode:   mode,
		Size:   int64(b.FileSizeHigh)<<32 | int64(b.FileSizeLow),
		Links:  uint64(b.NumberOfLinks),
		UID:    -1,
		GID:    -1,

		ModTime: time.Unix(0, b.LastWriteTime.Nanoseconds()),
	}, nil
}

type osFS struct{}

func (osFS) OpenDir(path string) (Dir, error) {
	h, err := createFile(path, windows.FILE_LIST_DIRECTORY|windows.FILE_READ_ATTRIBUTES, shareAll,
		windows.OPEN_EXISTING)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	in, err := infoOf(h)
	if err == nil && !in.Mode.IsDir() {
		err = windows.ERROR_DIRECTORY
	}
	if err != nil {
		windows.CloseHandle(h)
		return nil, pathError("open", path, err)
	}
	return &osDir{path: path, h: winHandle{h: h}}, nil
}

type osDir struct {
	path string
	h    winHandle
}

func (d *osDir) Path() string    { return d.path }
func (d *osDir) Handle() uintptr { return d.h.handle() }
func (d *osDir) Close() error    { return pathError("close", d.path, d.h.close()) }

// on runs one call on the path of a name while the directory is open.
func (d *osDir) on(op, name string, fn func(path string) error) error {
	path := join(d.path, name)
	err := element(name)
	if err == nil {
		err = d.h.use(func(windows.Handle) error { return fn(path) })
	}
	return pathError(op, path, err)
}

func (d *osDir) on2(op, old, new string, fn func(old, new *uint16) error) error {
	from, to := join(d.path, old), join(d.path, new)
	err := errors.Join(element(old), element(new))
	if err == nil {
		err = d.h.use(func(windows.Handle) error {
			o, err := windows.UTF16PtrFromString(from)
			if err != nil {
				return err
			}
			n, err := windows.UTF16PtrFromString(to)
			if err != nil {
				return err
			}
			return fn(o, n)
		})
	}
	return linkError(op, from, to, err)
}

func (d *osDir) file(op, name string, access, share, disposition uint32,
	check func(Info) error) (File, error) {
	f := &osFile{path: join(d.path, name)}
	err := d.on(op, name, func(path string) error {
		h, err := createFile(path, access, share, disposition)
		if err != nil {
			return err
		}
		in, err := infoOf(h)
		if err == nil {
			err = check(in)
		}
		if err != nil {
			windows.CloseHandle(h)
			return err
		}
		f.h.h = h
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func regular(in Info) error {
	if !in.Mode.IsRegular() {
		return notRegular(in.Mode)
	}
	return nil
}

func anything(Info) error { return nil }

func (d *osDir) Open(name string, access Access) (File, error) {
	rights := uint32(windows.GENERIC_READ)
	switch access {
	case ReadWrite:
		rights |= windows.GENERIC_WRITE
	case Append:
		// Without FILE_WRITE_DATA every write goes to the end, in one step. Truncate needs it: a
		// line that could not be written whole stays torn, which readers tolerate.
		rights |= windows.FILE_APPEND_DATA | windows.FILE_WRITE_ATTRIBUTES
	}
	return d.file("open", name, rights, shareAll, windows.OPEN_EXISTING, regular)
}

func (d *osDir) Pin(name string) (File, error) {
	return d.file(
		"pin",
		name,
		windows.FILE_READ_ATTRIBUTES,
		shareAll,
		windows.OPEN_EXISTING,
		anything,
	)
}

func (d *osDir) Create(name string, mode fs.FileMode) (File, error) {
	rights := uint32(windows.GENERIC_READ | windows.GENERIC_WRITE)
	f, err := d.file("create", name, rights, shareAll, windows.CREATE_NEW, regular)
	if err != nil || mode&0o200 != 0 {
		return f, err
	}
	if err := f.Chmod(mode); err != nil {
		f.Close()
		d.Remove(name)
		return nil, err
	}
	return f, nil
}

func (d *osDir) CreateUnnamed(fs.FileMode) (File, error) {
	return nil, pathError("create", join(d.path, "(unnamed)"), errors.ErrUnsupported)
}

func (d *osDir) LinkUnnamed(_ File, name string) error {
	return linkError("link", "(unnamed)", join(d.path, name), errors.ErrUnsupported)
}

func (d *osDir) Link(old, new string) error {
	return d.on2("link", old, new, func(o, n *uint16) error {
		err := windows.CreateHardLink(n, o, 0)
		if err == windows.ERROR_INVALID_FUNCTION {
			return unsupported(windows.ERROR_INVALID_FUNCTION, "no hard links here")
		}
		return err
	})
}

func (d *osDir) RenameNoReplace(old, new string) error {
	return d.on2("rename without replacing", old, new, func(o, n *uint16) error {
		return windows.MoveFileEx(o, n, windows.MOVEFILE_WRITE_THROUGH)
	})
}

func (d *osDir) Exchange(a, b string) error {
	return linkError("exchange", join(d.path, a), join(d.path, b), errors.ErrUnsupported)
}

func (d *osDir) Rename(old, new string) error {
	return d.on2("rename", old, new, func(o, n *uint16) error {
		return windows.MoveFileEx(
			o,
			n,
			windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH,
		)
	})
}

func (d *osDir) Remove(name string) error {
	return d.on("remove", name, func(path string) error {
		p, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return err
		}
		return windows.DeleteFile(p)
	})
}

func (d *osDir) Self() (Info, error) {
	var in Info
	err := d.h.use(func(h windows.Handle) (err error) {
		in, err = infoOf(h)
		return err
	})
	return in, pathError("stat", d.path, err)
}

func (d *osDir) Stat(name string) (Info, error) {
	f, err := d.file("stat", name, windows.FILE_READ_ATTRIBUTES, shareAll, windows.OPEN_EXISTING,
		anything)
	if err != nil {
		return Info{}, err
	}
	in, err := f.Stat()
	return in, errors.Join(err, f.Close())
}

func (d *osDir) Names() ([]string, error) {
	var names []string
	err := d.h.use(func(windows.Handle) error {
		f, err := os.Open(d.path)
		if err != nil {
			return err
		}
		defer f.Close()
		names, err = f.Readdirnames(-1)
		return err
	})
	return names, pathError("list", d.path, err)
}

// Sync does nothing: Windows has no flush of a directory, and renames are written through.
func (d *osDir) Sync() error {
	return pathError("flush", d.path, d.h.use(func(windows.Handle) error { return nil }))
}
