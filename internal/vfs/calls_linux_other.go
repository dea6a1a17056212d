//go:build linux && !amd64 && !arm64 && !riscv64

package vfs

import "golang.org/x/sys/unix"

// linkFD gives an open file a name.
func linkFD(fd, dir int, name string) error {
	return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
}

// statxOf asks for some of what is to be said of an open file.
func statxOf(fd, mask int, st *unix.Statx_t) error {
	return unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, st)
}

func openat2(path string, how *unix.OpenHow) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, how)
}
