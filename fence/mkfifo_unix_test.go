//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fence

import "syscall"

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
