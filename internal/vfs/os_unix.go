//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	gateLock   = nativeLock
	ownerKeeps = false
)

// systemName has no names to refuse.
func systemName(string) error { return nil }

type osFS struct{}

func (osFS) OpenDir(path string) (Dir, error) {
	fd, pathOnly, err := openDir(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &osDir{path: path, pathOnly: pathOnly, fd: descriptor{fd: fd}}, nil
}

type osDir struct {
	path     string
	pathOnly bool // may be searched and written but not read
	lazy     lazyPath
	last     Info // of the last element of the path that it was opened for, if it was there then
	there    bool
	fd       descriptor
}

func (d *osDir) Handle() uintptr { return d.fd.handle() }
func (d *osDir) Close() error    { return pathError("close", d.path, d.fd.close()) }

// on runs one call on a name in the directory.
func (d *osDir) on(op, name string, fn func(fd int) error) error {
	err := element(name)
	if err == nil {
		err = d.fd.use(fn)
	}
	if err == nil {
		return nil
	}
	return pathError(op, join(d.path, name), err)
}

// on2 runs one call on two names in the directory.
func (d *osDir) on2(op, old, new string, fn func(fd int) error) error {
	err := element(old)
	if err == nil {
		err = element(new)
	}
	if err == nil {
		err = d.fd.use(fn)
	}
	if err == nil {
		return nil
	}
	return linkError(op, join(d.path, old), join(d.path, new), err)
}

func (d *osDir) Open(name string, access Access) (File, error) {
	return d.open(name, access, false)
}

// openSeen is explained at OpenSeen.
func (d *osDir) openSeen(name string) (File, error) { return d.open(name, Read, true) }

func (d *osDir) open(name string, access Access, seen bool) (File, error) {
	var f *osFile
	err := d.on("open", name, func(fd int) (err error) {
		f, err = d.openIn(fd, name, access, seen)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openIn is open in the directory with a descriptor, which is that of d.
func (d *osDir) openIn(dir int, name string, access Access, seen bool) (*osFile, error) {
	flags := [...]int{Read: unix.O_RDONLY, ReadWrite: unix.O_RDWR,
		Append: unix.O_RDWR | unix.O_APPEND}[access]
	// Opening a device can do something (rewind a tape, hang up a line), so look first. What comes
	// in between is opened without blocking and refused below.
	var st unix.Stat_t
	if !seen {
		if err := fstatat(dir, name, &st); err != nil {
			return nil, err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil, notRegular(fileMode(uint32(st.Mode)))
		}
	}
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := openat(dir, name, flags, 0)
	if err != nil {
		return nil, openError(err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, notRegular(fileMode(uint32(st.Mode)))
	}
	f := &osFile{dir: d.path, name: name, writable: access != Read, fd: descriptor{fd: fd}}
	f.first.set(&st)
	return f, nil
}

func (d *osDir) Pin(name string) (File, error) {
	f := &osFile{dir: d.path, name: name, fd: descriptor{fd: -1}}
	err := d.on("pin", name, func(fd int) (err error) {
		f.fd.fd, err = pin(fd, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *osDir) Create(name string, mode fs.FileMode) (File, error) {
	f := &osFile{dir: d.path, name: name, writable: true, fd: descriptor{fd: -1}}
	err := d.on("create", name, func(fd int) error {
		flags := unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		n, err := unix.Openat(fd, name, flags, uint32(mode.Perm()))
		if err != nil {
			return err
		}
		if err = f.first.setMode(n, mode); err != nil {
			unix.Close(n)
			unix.Unlinkat(fd, name, 0)
			return err
		}
		f.fd.fd = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// setMode gives a file that was just created exactly the bits that were asked for, whatever the
// umask and the default ACL of the directory made of them, and becomes what it saw.
func (i *Info) setMode(fd int, mode fs.FileMode) error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	i.set(&st)
	return i.correct(fd, mode)
}

// correct is what setMode does after it has looked.
func (i *Info) correct(fd int, mode fs.FileMode) error {
	if i.Mode.Perm() == mode.Perm() {
		return nil
	}
	i.Mode = i.Mode&^fs.ModePerm | mode.Perm()
	return retry(func() error { return unix.Fchmod(fd, uint32(mode.Perm())) })
}

func (d *osDir) Link(old, new string) error {
	return d.on2("link", old, new, func(fd int) error {
		err := unix.Linkat(fd, old, fd, new, 0)
		if err == unix.EPERM {
			// What Linux answers where there are no hard links (FAT). The other meanings
			// (append-only or immutable file, somebody else's file) cannot be true of a file that
			// was just made.
			return unsupported(unix.EPERM, "no hard links here")
		}
		return err
	})
}

func (d *osDir) RenameNoReplace(old, new string) error {
	return d.on2("rename without replacing", old, new, func(fd int) error {
		return renameNoReplace(fd, old, new)
	})
}

func (d *osDir) Exchange(a, b string) error {
	return d.on2("exchange", a, b, func(fd int) error { return exchange(fd, a, b) })
}

func (d *osDir) Rename(old, new string) error {
	return d.on2("rename", old, new, func(fd int) error { return unix.Renameat(fd, old, fd, new) })
}

func (d *osDir) Remove(name string) error {
	return d.on("remove", name, func(fd int) error { return unlinkat(fd, name) })
}

func (d *osDir) TakeOut(name, _ string, _ func(File) (bool, error)) (bool, error) {
	return false, pathError("take out", join(d.path, name), errors.ErrUnsupported)
}

func (d *osDir) Self() (i Info, err error) {
	var st unix.Stat_t
	if err := d.fd.use(func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return i, pathError("stat", d.path, err)
	}
	i.set(&st)
	return i, nil
}

func (d *osDir) Stat(name string) (Info, error) {
	i, err := d.look(name)
	if err != nil {
		return i, pathError("stat", join(d.path, name), err)
	}
	return i, nil
}

// look is Stat with the bare error of the system.
func (d *osDir) look(name string) (i Info, err error) {
	if err = element(name); err != nil {
		return i, err
	}
	var st unix.Stat_t
	err = d.fd.use(func(fd int) error { return fstatat(fd, name, &st) })
	if err == nil {
		i.set(&st)
	}
	return i, err
}

// glance is explained at Glance.
func (d *osDir) glance(name string) (Info, bool, error) {
	i, err := d.look(name)
	switch err {
	case nil:
		return i, true, nil
	case unix.ENOENT:
		return i, false, nil
	}
	return i, false, pathError("stat", join(d.path, name), err)
}

func (d *osDir) Names() ([]string, error) {
	var names []string
	err := d.fd.use(func(fd int) error {
		// Opened anew: the position in a directory belongs to the open file description.
		n, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(n), d.path)
		defer f.Close()
		names, err = f.Readdirnames(-1)
		return err
	})
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return nil, pathError("list", d.path, err)
	}
	return names, nil
}

func (d *osDir) Sync() error {
	err := d.fd.use(func(fd int) error {
		if d.pathOnly {
			return syncUnreadable(fd)
		}
		return flush(fd)
	})
	if err == unix.EINVAL {
		err = unsupported(unix.EINVAL, "directories cannot be flushed here")
	}
	return pathError("flush", d.path, err)
}

// fileMode is the portable form of st_mode.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	if m&^0o777 == unix.S_IFREG {
		return mode
	}
	for _, b := range [...]struct {
		bit uint32
		to  fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if m&b.bit != 0 {
			mode |= b.to
		}
	}
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}

// set says what st does.
func (i *Info) set(st *unix.Stat_t) {
	i.Device = uint64(st.Dev)
	i.Inode = uint64(st.Ino)
	i.Mode = fileMode(uint32(st.Mode))
	i.Size = st.Size
	i.Links = uint64(st.Nlink)
	i.UID = int(st.Uid)
	i.GID = int(st.Gid)
	i.ModTime = time.Unix(st.Mtim.Unix())
}
