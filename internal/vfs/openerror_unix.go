//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// openError tells the answers that only something else than a regular file gives.
func openError(err error) error {
	switch err {
	case unix.ELOOP, unix.EMLINK, // a link (FreeBSD says EMLINK)
		unix.EISDIR,             // a directory
		unix.ENXIO, unix.ENODEV: // a socket, a FIFO without a reader, a device
		return &kindError{err.(syscall.Errno)}
	}
	if errno, ok := err.(syscall.Errno); ok && otherKind(errno) {
		return &kindError{errno}
	}
	return err
}

// kindError is ErrNotRegular as the errno of open says it.
type kindError struct{ errno syscall.Errno }

func (e *kindError) Error() string   { return ErrNotRegular.Error() + ": " + e.errno.Error() }
func (e *kindError) Unwrap() []error { return []error{ErrNotRegular, e.errno} }
