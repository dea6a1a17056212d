package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// identity is how a directory is known again.
type identity struct {
	device, inode uint64
	in            *osFile
}

// park is explained at Park.
func (d *osDir) park(in File) {
	f, _ := in.(*osFile)
	d.fd.mu.Lock()
	defer d.fd.mu.Unlock()
	if d.fd.fd < 0 {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(d.fd.fd, &st) != nil {
		return
	}
	unix.Close(d.fd.fd)
	d.fd.fd, d.fd.unpark = parked, func() (int, error) {
		return d.again(identity{uint64(st.Dev), uint64(st.Ino), f})
	}
}

// again opens a directory that was parked: by its path, and where that leads to another one by the
// path of an open file in it. It is the same directory, or fs.ErrNotExist.
func (d *osDir) again(id identity) (int, error) {
	fd, err := d.openKnown(d.path, id)
	if err == nil {
		return fd, nil
	}
	if err == unix.EMFILE || err == unix.ENFILE || id.in == nil {
		return -1, err
	}
	path, unknown := pathOf(int(id.in.Handle()))
	if unknown != nil {
		return -1, err
	}
	return d.openKnown(filepath.Dir(path), id)
}

func (d *osDir) openKnown(path string, id identity) (int, error) {
	fd, _, err := openDir(path)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if uint64(st.Dev) != id.device || uint64(st.Ino) != id.inode {
		unix.Close(fd)
		return -1, &movedError{fs.ErrNotExist}
	}
	return fd, nil
}

// movedError says that the directory is not where it was.
type movedError struct{ error }

func (e *movedError) Error() string { return "another directory stands there by now" }
func (e *movedError) Unwrap() error { return e.error }

// pathOf returns the path of an open file or directory as the kernel knows it now: proc_pid_fd(5).
func pathOf(fd int) (string, error) {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err == nil && !filepath.IsAbs(path) { // it cannot be reached from here
		err = fs.ErrNotExist
	}
	return path, err
}
