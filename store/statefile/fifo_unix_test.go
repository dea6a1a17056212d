//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package statefile_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// fifos returns paths of things whose opening would wait.
func fifos(t *testing.T, dir string) []string {
	path := filepath.Join(dir, "fifo")
	noError(t, syscall.Mkfifo(path, 0o600))
	return []string{path}
}
