//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

const nativeLock = LockFlock

func openDir(path string) (fd int, pathOnly bool, err error) {
	err = retry(func() error {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, false, err
}

// openReal is openDir. real says that there is no link in path; here nobody says.
func openReal(path string) (fd int, pathOnly, real bool, err error) {
	fd, pathOnly, err = openDir(path)
	return fd, pathOnly, false, err
}

func syncUnreadable(int) error { return unix.EACCES }

// pin opens for reading, without waiting. There is no way here to hold a link, a socket or a device
// without opening it.
func pin(dir int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, err
	}
	switch mode := fileMode(uint32(st.Mode)); {
	case mode.IsRegular(), mode.IsDir(), mode&fs.ModeNamedPipe != 0:
	default:
		return -1, errors.Join(notRegular(mode), errors.ErrUnsupported)
	}
	return unix.Openat(dir, name,
		unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

// otherKind recognizes what open(2) says here about a link (NetBSD: EFTYPE) and a socket.
func otherKind(errno syscall.Errno) bool {
	return errno == unix.EFTYPE || errno == unix.EOPNOTSUPP
}

func (d *osDir) CreateUnnamed(fs.FileMode) (File, error) {
	return nil, pathError("create", join(d.path, "(unnamed)"), errors.ErrUnsupported)
}

func (d *osDir) LinkUnnamed(_ File, name string) error {
	return linkError("link", "(unnamed)", join(d.path, name), errors.ErrUnsupported)
}

func alone(int) (bool, error) {
	return false, fmt.Errorf("no way to see who has a file open here: %w", errors.ErrUnsupported)
}

func ofdLock(int) error           { return errKind(LockOFD) }
func ofdUnlock(int) error         { return errKind(LockOFD) }
func ofdLocked(int) (bool, error) { return false, errKind(LockOFD) }

// whereabouts is not asked for here.
func (d *osDir) whereabouts() (string, error) { return "", errors.ErrUnsupported }
