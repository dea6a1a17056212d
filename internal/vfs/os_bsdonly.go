//go:build freebsd || netbsd || openbsd || dragonfly

package vfs

import "golang.org/x/sys/unix"

func flush(fd int) error { return unix.Fsync(fd) }

func renameNoReplace(int, string, string) error {
	return unsupported(unix.ENOSYS, "no rename without replacing on this system")
}

func exchange(int, string, string) error {
	return unsupported(unix.ENOSYS, "no exchange of names on this system")
}
