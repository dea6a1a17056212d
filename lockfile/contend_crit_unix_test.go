//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile_test

import (
	"os"
	"syscall"
)

// enter takes the system's lock on a file, which nobody else may have, and which the system itself
// gives up when the process dies.
func enter(crit string) (leave func(), err error) {
	f, err := os.OpenFile(crit, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		// By hand: a child that is just being started may have the descriptor for a moment too.
		syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		f.Close()
	}, nil
}
