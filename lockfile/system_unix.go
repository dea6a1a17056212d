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

// privileged reports whether this process may give files away.
func privileged() bool { return os.Geteuid() == 0 }
