//go:build unix

package cli

import (
	"io/fs"
	"os"
	"syscall"
)

// isNullDevice reports whether f is the null device, by whatever name: in a container or behind a
// mount it may be another file of the same device. What the Go runtime opens where a standard
// stream was closed is the null device, too.
func isNullDevice(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || null.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	this, ok := info.Sys().(*syscall.Stat_t)
	that, known := null.Sys().(*syscall.Stat_t)
	return os.SameFile(info, null) || ok && known && this.Rdev == that.Rdev
}
