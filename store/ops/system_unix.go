//go:build unix

package ops

import (
	"errors"
	"os"
	"syscall"
)

// openFlags keep an open from waiting at a FIFO that was put there in the meantime.
const openFlags = syscall.O_NONBLOCK

// flush makes the names in a folder durable.
func flush(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil // there is nothing to flush on this filesystem
}

// again reports whether a file is worth another try.
func again(error) bool { return false }

// give makes a file or folder that of the folder's owner, where root makes it: a store
// that root has once changed must not lock out the owner of the data.
func give(root *os.Root, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 {
		return root.Lchown(name, int(s.Uid), int(s.Gid))
	}
	return nil
}
