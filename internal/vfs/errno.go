//go:build !plan9

package vfs

import (
	"errors"
	"syscall"
)

// missing is an errno that means "this system or filesystem cannot do that". It is neither
// fs.ErrPermission nor fs.ErrNotExist, whatever the number: a caller that falls back on
// errors.ErrUnsupported, or starts again on a vanished file, must not mix the two up. The errno
// itself stays within reach of errors.Is and errors.As, and in the text.
type missing struct {
	errno syscall.Errno
	what  string // what is missing, in plain words
}

func unsupported(errno syscall.Errno, what string) error { return &missing{errno, what} }

func (e *missing) Error() string { return e.what + ": " + e.errno.Error() }

func (e *missing) Is(target error) bool {
	return target == errors.ErrUnsupported || target == error(e.errno)
}

func (e *missing) As(target any) bool {
	if p, ok := target.(*syscall.Errno); ok {
		*p = e.errno
		return true
	}
	return false
}

// NoLinks reports that err, from Dir.Link or a rename with flags of a file that this process has
// just made in that directory, says that there is no such call here. What it says differs from
// system to system, and rights to the directory are not among the reasons.
func NoLinks(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EINVAL,
		syscall.EXDEV, syscall.EMLINK} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return errors.Is(err, errors.ErrUnsupported)
}

// NotOurs reports that err, from File.Chown, says that this process may not give that file away: it
// is not privileged after all, or the owner does not exist in its user namespace.
func NotOurs(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)
}

// Stale reports that err says "the file behind this handle was replaced" (network filesystems):
// look again, a bounded number of times.
func Stale(err error) bool { return errors.Is(err, syscall.ESTALE) }
