//go:build unix

package lockfile

import (
	"os"
	"syscall"
)

const (
	errQuota = syscall.EDQUOT
	errStale = syscall.ESTALE
)

func euid() int { return os.Geteuid() }
