//go:build !unix

package lockfile

import (
	"errors"
	"syscall"
)

// These have no numbers of their own here: nothing returns them.
const (
	errQuota = syscall.ENOSPC
	errStale = syscall.EINVAL
)

func euid() int { return -1 }

func privileged() bool { return false }

func isNoLinks(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
