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

// rename puts a file in place of another.
func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }
