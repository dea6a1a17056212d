package lockfile

import "syscall"

// Errors are texts on Plan 9, where no directory can be opened for a lock in the first place.
type errno = syscall.ErrorString

const (
	errReadOnlyFS errno = "read-only filesystem"
	errNoSpace    errno = "no space"
	errLongName   errno = "name too long"
	errManyFiles  errno = "too many open files"
	errAllFiles   errno = "too many open files in the system"
	errAgain      errno = "try again"
	errIO         errno = "i/o error"
	errTooBig     errno = "file too large"
	errQuota      errno = "quota exceeded"
	errStale      errno = "stale handle"
)

func euid() int { return -1 }
