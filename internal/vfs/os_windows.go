package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

const (
	nativeLock = LockHandle
	gateLock   = LockRange
	ownerKeeps = true
)

type osFS struct{}

func (osFS) OpenDir(path string) (Dir, error) {
	d := &osDir{path: path, own: map[string]*osFile{}, unflushed: map[string]bool{}}
	at, err := verbatim(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	p, err := windows.UTF16PtrFromString(at)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	// With backup semantics directories open too.
	d.h.h, err = windows.CreateFile(p, windows.FILE_LIST_DIRECTORY|windows.FILE_TRAVERSE|
		windows.FILE_READ_ATTRIBUTES|windows.SYNCHRONIZE, shareAll, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	in, err := infoOf(d.h.h)
	if err == nil && !in.Mode.IsDir() {
		err = windows.ERROR_DIRECTORY
	}
	if err != nil {
		windows.CloseHandle(d.h.h)
		return nil, pathError("open", path, err)
	}
	return d, nil
}

type osDir struct {
	path string
	h    winHandle

	mu sync.Mutex
	// Files that Create made and that are still open, by the name that they have now. Nobody can
	// open them again to rename or remove them, so that this goes through their own handles, and no
	// other process can give them other names.
	own map[string]*osFile
	// Names that were given by a rename since Sync.
	unflushed map[string]bool
}

func (d *osDir) Path() string    { return d.path }
func (d *osDir) Handle() uintptr { return d.h.handle() }
func (d *osDir) Close() error    { return pathError("close", d.path, d.h.close()) }

func (d *osDir) owned(name string) *osFile {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.own[name]
}

// renamed keeps own true. An empty name forgets the file.
func (d *osDir) renamed(f *osFile, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, g := range d.own {
		if f == g {
			delete(d.own, name)
		}
	}
	if to != "" {
		d.own[to] = f
	}
}

// on runs one call on a name while the directory is open.
func (d *osDir) on(op, name string, fn func(dir windows.Handle) error) error {
	err := element(name)
	if err == nil {
		err = d.h.use(fn)
	}
	return pathError(op, join(d.path, name), err)
}

// on2 runs one call on two names.
func (d *osDir) on2(op, old, new string, fn func(dir windows.Handle) error) error {
	err := errors.Join(element(old), element(new))
	if err == nil {
		err = d.h.use(fn)
	}
	return linkError(op, join(d.path, old), join(d.path, new), err)
}

func (d *osDir) open(op, name string, access, share, disposition uint32,
	check func(Info) error) (*osFile, error) {
	f := &osFile{path: join(d.path, name), dir: d, name: name}
	err := d.on(op, name, func(dir windows.Handle) error {
		h, err := ntOpen(dir, name, access, share, disposition)
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

// attributes is a right that no sharing of others stands against.
const attributes = windows.FILE_READ_ATTRIBUTES

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
	var f *osFile
	err := waitOut(inUse, func() (err error) {
		f, err = d.open("open", name, rights, shareAll, windows.FILE_OPEN, regular)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *osDir) Pin(name string) (File, error) {
	f, err := d.open("pin", name, attributes, shareAll, windows.FILE_OPEN, anything)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create makes a file that only its maker can rename and remove as long as it is open, through the
// handle that it gets here, which is opened in the step that makes the file.
func (d *osDir) Create(name string, mode fs.FileMode) (File, error) {
	var f *osFile
	err := waitOut(inUse, func() (err error) { // a file of that name may be about to vanish
		f, err = d.open("create", name,
			windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_CREATE, regular)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.own = true
	d.renamed(f, name)
	if mode&0o200 == 0 {
		if err := f.Chmod(mode); err != nil {
			return nil, errors.Join(err, d.Remove(name), f.Close())
		}
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
	return d.on2("link", old, new, func(dir windows.Handle) error {
		h, err := ntOpen(dir, old, windows.FILE_WRITE_ATTRIBUTES, shareAll, windows.FILE_OPEN)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(h)
		return ntLink(h, dir, new)
	})
}

func (d *osDir) Exchange(a, b string) error {
	return linkError("exchange", join(d.path, a), join(d.path, b), errors.ErrUnsupported)
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
	f, err := d.open("stat", name, attributes, shareAll, windows.FILE_OPEN, anything)
	if err != nil {
		return Info{}, err
	}
	in, err := f.Stat()
	return in, errors.Join(err, f.Close())
}

func (d *osDir) Names() ([]string, error) {
	var names []string
	err := d.h.use(func(h windows.Handle) error {
		// Opened anew: the position in a directory belongs to the open file.
		n, err := ntOpen(h, "", windows.FILE_LIST_DIRECTORY, shareAll, windows.FILE_OPEN)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(n), d.path)
		defer f.Close()
		names, err = f.Readdirnames(-1)
		return err
	})
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return names, pathError("list", d.path, err)
}
