//go:build !plan9

package cli

import (
	"errors"
	"syscall"
)

// isShortage reports whether the system had too little of something to start any command.
func isShortage(err error) bool {
	return isOutOfFiles(err) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM)
}

// isOutOfFiles reports whether this process or the system has as many files open as it may.
func isOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
