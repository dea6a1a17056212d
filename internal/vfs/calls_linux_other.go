//go:build linux && !amd64 && !arm64 && !riscv64

package vfs

import "golang.org/x/sys/unix"

// linkFD gives an open file a name.
func linkFD(fd, dir int, name string) error {
	return unix.Linkat(fd, "", dir, name, unix.AT_EMPTY_PATH)
}

func openat2(path string, how *unix.OpenHow) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, how)
}
