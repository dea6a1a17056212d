//go:build !plan9 && !windows

package lockfile

import "syscall"

type errno = syscall.Errno

const (
	errReadOnlyFS = syscall.EROFS
	errNoSpace    = syscall.ENOSPC
	errLongName   = syscall.ENAMETOOLONG
	errManyFiles  = syscall.EMFILE // of this process
	errAllFiles   = syscall.ENFILE // of the system
	errAgain      = syscall.EAGAIN
	errIO         = syscall.EIO
	errTooBig     = syscall.EFBIG
)
