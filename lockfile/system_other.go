//go:build !unix && !plan9 && !windows

package lockfile

import "syscall"

// These have no numbers of their own here: nothing returns them.
const (
	errQuota = syscall.ENOSPC
	errStale = syscall.EINVAL
)

func euid() int { return -1 }
