package vfs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// flush asks the drive as well: fsync on macOS stops at the drive's own memory.
func flush(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	if errno, ok := err.(syscall.Errno); ok &&
		(errno == unix.ENOTTY || errno == unix.EINVAL || errors.Is(errno, errors.ErrUnsupported)) {
		return unix.Fsync(fd) // a filesystem without F_FULLFSYNC, such as SMB
	}
	return err
}

func renameNoReplace(dir int, old, new string) error {
	return renameFlags(dir, old, new, unix.RENAME_EXCL, "no rename without replacing here")
}

func exchange(dir int, a, b string) error {
	return renameFlags(dir, a, b, unix.RENAME_SWAP, "no exchange of names here")
}

func renameFlags(dir int, old, new string, flags uint32, what string) error {
	err := unix.RenameatxNp(dir, old, dir, new, flags)
	if errno, ok := err.(syscall.Errno); ok &&
		(errno == unix.EINVAL || errors.Is(errno, errors.ErrUnsupported)) {
		return unsupported(errno, what)
	}
	return err
}
