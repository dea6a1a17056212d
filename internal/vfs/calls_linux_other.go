//go:build linux && !amd64 && !arm64 && !riscv64

package vfs

import "golang.org/x/sys/unix"

// linkFD gives an open file a name.
func linkFD(fd, dir int, name string) error {
	return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
}

// statxOf asks for all of a struct stat and the number of the mount.
func statxOf(fd int, st *unix.Statx_t) error {
	const mask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID_UNIQUE
	return unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, st)
}

func openat2(path string, how *unix.OpenHow) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, how)
}
