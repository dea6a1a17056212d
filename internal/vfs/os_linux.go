package vfs

import (
	"errors"
	"io/fs"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const nativeLock = LockOFD

func openDir(path string) (fd int, pathOnly bool, err error) {
	err = retry(func() error {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err == unix.EACCES {
		// A directory that may be written and searched but not listed.
		err = retry(func() error {
			fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			return err
		})
		return fd, true, err
	}
	return fd, false, err
}

// noOpenat2 is set where openat2(2) does not exist: before Linux 5.6.
var noOpenat2 atomic.Bool

// openReal is openDir, and lets the kernel say whether there is no link in path.
func openReal(path string) (fd int, pathOnly, real bool, err error) {
	if !noOpenat2.Load() {
		how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_SYMLINKS}
		err := retry(func() (err error) {
			fd, err = openat2(path, &how)
			return err
		})
		if err == nil {
			return fd, false, true, nil
		}
		noOpenat2.Store(err == unix.ENOSYS)
	}
	fd, pathOnly, err = openDir(path)
	return fd, pathOnly, false, err
}

func pin(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// otherKind: Linux has nothing more to say.
func otherKind(syscall.Errno) bool { return false }

func flush(fd int) error { return unix.Fsync(fd) }

// syncUnreadable flushes a directory that cannot be opened for reading, and so not be flushed by
// itself: with it everything else on its filesystem, through a file without a name.
func syncUnreadable(dir int) error {
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return unix.EACCES
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}

func (d *osDir) CreateUnnamed(mode fs.FileMode) (File, error) {
	f := &osFile{dir: d.path, name: unnamed, writable: true}
	if err := d.fd.use(func(fd int) error { return f.createIn(fd, mode) }); err != nil {
		return nil, pathError("create", f.path(), err)
	}
	return f, nil
}

// unnamed is the name of a file without one, in errors.
const unnamed = "(unnamed)"

// createIn makes f a new file without a name in a directory.
func (f *osFile) createIn(dir int, mode fs.FileMode) error {
	n, err := openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	switch err {
	case nil:
	case unix.EISDIR, unix.EOPNOTSUPP, unix.EINVAL:
		return unsupported(err.(syscall.Errno), "no files without a name here")
	case unix.ENOENT:
		if alive(dir) { // a kernel that does not know the flag, and not a directory that is gone
			return unsupported(unix.ENOENT, "no files without a name here")
		}
		return err
	case unix.EPERM:
		if !alive(dir) { // what ext4 says in a directory that was removed
			return unix.ENOENT
		}
		return err
	default:
		return err
	}
	if f.first.setUnique(n) {
		err = f.first.correct(n, mode)
	} else {
		err = f.first.setMode(n, mode)
	}
	if err != nil {
		unix.Close(n)
		return err
	}
	f.fd.fd = n
	return nil
}

// noUnique is set where mounts have no numbers of their own: before Linux 6.8.
var noUnique atomic.Bool

// setUnique says of an open file what is to be said, and the number of its mount, if that can be
// had.
func (i *Info) setUnique(fd int) bool {
	if noUnique.Load() {
		return false
	}
	var st unix.Statx_t
	const all = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID_UNIQUE
	if statxOf(fd, all, &st) != nil || st.Mask&all != all {
		noUnique.Store(true)
		return false
	}
	i.Device = unix.Mkdev(st.Dev_major, st.Dev_minor)
	i.Inode = st.Ino
	i.Mode = fileMode(uint32(st.Mode))
	i.Size = int64(st.Size)
	i.Links = uint64(st.Nlink)
	i.UID, i.GID = int(st.Uid), int(st.Gid)
	i.ModTime = time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec))
	i.Mount = st.Mnt_id
	return true
}

func (d *osDir) LinkUnnamed(file File, name string) error {
	f, ok := file.(*osFile)
	if !ok {
		return linkError("link", unnamed, join(d.path, name), fs.ErrInvalid)
	}
	err := element(name)
	if err == nil {
		err = f.fd.use(func(fd int) error {
			return d.fd.use(func(dir int) error { return linkUnnamed(fd, dir, name) })
		})
	}
	if err != nil {
		return linkError("link", f.path(), join(d.path, name), err)
	}
	return nil
}

// linkUnnamed uses the descriptor itself, which works without /proc. Before Linux 6.10 that needs a
// capability and says ENOENT without.
func linkUnnamed(fd, dir int, name string) error {
	err := linkFD(fd, dir, name)
	if err != unix.ENOENT && err != unix.EPERM && err != unix.EINVAL {
		return err
	}
	const self = "/proc/self/fd/"
	var st unix.Statfs_t
	if unix.Statfs(self, &st) != nil || uint32(st.Type) != unix.PROC_SUPER_MAGIC {
		if err == unix.ENOENT && !alive(dir) {
			return err
		}
		return unsupported(err.(syscall.Errno), "no way to name an unnamed file here")
	}
	return unix.Linkat(unix.AT_FDCWD, self+strconv.Itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// alive reports that the open directory still has a name.
func alive(dir int) bool {
	var st unix.Stat_t
	return unix.Fstat(dir, &st) == nil && st.Nlink > 0
}

func renameNoReplace(dir int, old, new string) error {
	return renameFlags(dir, old, new, unix.RENAME_NOREPLACE, "no rename without replacing here")
}

func exchange(dir int, a, b string) error {
	return renameFlags(dir, a, b, unix.RENAME_EXCHANGE, "no exchange of names here")
}

func renameFlags(dir int, old, new string, flags uint, what string) error {
	err := unix.Renameat2(dir, old, dir, new, flags)
	errno, ok := err.(syscall.Errno)
	if !ok {
		return err
	}
	switch {
	case errno == unix.EINVAL, errors.Is(errno, errors.ErrUnsupported):
		return unsupported(errno, what)
	case errno == unix.EPERM && unix.Renameat2(-1, old, -1, new, flags) == unix.EPERM:
		// A real EPERM comes from the directory. Here the call itself is forbidden (seccomp): the
		// kernel would have said EBADF.
		return unsupported(errno, what)
	}
	return err
}

// alone asks for a write lease, which the kernel grants only on a file that nobody else has open,
// in no process and in no pid namespace, mapped or in flight between processes, and gives it back.
// It needs the file's owner or CAP_LEASE.
func alone(fd int) (bool, error) {
	// Who opens the file at this moment makes the kernel send a signal, SIGIO unless told
	// otherwise, which ends programs that do not expect it. Nobody minds SIGURG.
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(unix.SIGURG))
	if err != nil {
		return false, err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	if err == unix.EAGAIN {
		return false, nil
	}
	if err == unix.EINVAL || err == unix.ENOLCK {
		return false, unsupported(err.(syscall.Errno), "no leases here")
	}
	if err != nil {
		return false, err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return true, err
}

// The open-file-description locks. They belong to the open file description, so no other close in
// the process drops them, and they are inherited. Start 0 and Len 0 mean the whole file, however it
// grows.

func ofdLock(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

func ofdUnlock(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
}

// ofdLocked asks with a read lock: that one conflicts with owners only, and needs no right to
// write.
func ofdLocked(fd int) (bool, error) {
	lk := unix.Flock_t{Type: unix.F_RDLCK}
	err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &lk)
	return err == nil && lk.Type != unix.F_UNLCK, err
}

// whereabouts is the path of the directory as the kernel knows it.
func (d *osDir) whereabouts() (path string, err error) {
	err = d.fd.use(func(fd int) (err error) {
		path, err = pathOf(fd)
		return err
	})
	return path, err
}
