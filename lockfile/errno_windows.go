package lockfile

import (
	"syscall"

	"golang.org/x/sys/windows"
)

type errno = syscall.Errno

const (
	errReadOnlyFS = windows.ERROR_WRITE_PROTECT
	errNoSpace    = windows.ERROR_DISK_FULL
	errQuota      = windows.ERROR_DISK_QUOTA_EXCEEDED
	errLongName   = windows.ERROR_FILENAME_EXCED_RANGE
	errManyFiles  = windows.ERROR_TOO_MANY_OPEN_FILES
	errAllFiles   = windows.ERROR_NO_SYSTEM_RESOURCES
	errIO         = windows.ERROR_IO_DEVICE
	errTooBig     = windows.ERROR_FILE_TOO_LARGE

	// numbers of Go's own: nothing returns them
	errAgain = syscall.EAGAIN
	errStale = syscall.EINVAL
)

func euid() int { return -1 }
