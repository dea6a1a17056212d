//go:build unix

package lockfile

import (
	"errors"
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

// isNoLinks reports whether a link was refused because the filesystem has none.
func isNoLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || isErrno(err, syscall.EMLINK, syscall.EXDEV)
}
