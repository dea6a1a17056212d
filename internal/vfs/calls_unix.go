//go:build unix && !aix && !solaris && (!linux || (!amd64 && !arm64 && !riscv64))

package vfs

import "golang.org/x/sys/unix"

// fstatat looks at a name without following links.
func fstatat(dir int, name string, st *unix.Stat_t) error {
	return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	return unix.Openat(dir, name, flags, mode)
}

func unlinkat(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }
