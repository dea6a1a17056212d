//go:build linux && (amd64 || arm64 || riscv64)

package vfs

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls with names that every tenure makes. They are those of package unix without a copy of
// the name on the heap for each call. Names have no NUL in them. Nothing is repeated.

// cName is room for a name and the NUL behind it. Names are at most 255 bytes long on every
// filesystem of Linux; what is longer goes through package unix.
type cName [256]byte

func (c *cName) set(name string) (fits bool) { return copy(c[:len(c)-1], name) == len(name) }

// Of an Errno an error is made without an allocation, as they are small numbers.
func called(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// fstatat looks at a name without following links.
func fstatat(dir int, name string, st *unix.Stat_t) error {
	var c cName
	if !c.set(name) {
		return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
	}
	_, _, errno := syscall.Syscall6(unix.SYS_NEWFSTATAT, uintptr(dir),
		uintptr(unsafe.Pointer(&c)), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	return called(errno)
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	var c cName
	if !c.set(name) {
		return unix.Openat(dir, name, flags, mode)
	}
	fd, _, errno := syscall.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&c)),
		uintptr(flags), uintptr(mode), 0, 0)
	return int(fd), called(errno)
}

func unlinkat(dir int, name string) error {
	var c cName
	if !c.set(name) {
		return unix.Unlinkat(dir, name, 0)
	}
	_, _, errno := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&c)), 0)
	return called(errno)
}

// linkFD gives an open file a name.
func linkFD(fd, dir int, name string) error {
	var empty [1]byte
	var c cName
	if !c.set(name) {
		return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
	}
	_, _, errno := syscall.Syscall6(unix.SYS_LINKAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		uintptr(dir), uintptr(unsafe.Pointer(&c)), unix.AT_EMPTY_PATH, 0)
	return called(errno)
}

// statxOf asks for some of what is to be said of an open file.
func statxOf(fd, mask int, st *unix.Statx_t) error {
	var empty [1]byte
	_, _, errno := syscall.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		unix.AT_EMPTY_PATH, uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
	return called(errno)
}

func openat2(path string, how *unix.OpenHow) (int, error) {
	var c cName
	if !c.set(path) {
		return unix.Openat2(unix.AT_FDCWD, path, how)
	}
	at := unix.AT_FDCWD
	fd, _, errno := syscall.Syscall6(unix.SYS_OPENAT2, uintptr(at), uintptr(unsafe.Pointer(&c)),
		uintptr(unsafe.Pointer(how)), unix.SizeofOpenHow, 0, 0)
	return int(fd), called(errno)
}
