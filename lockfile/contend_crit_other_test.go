//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lockfile_test

import "os"

// enter creates a file that nobody else may have created.
func enter(crit string) (leave func(), err error) {
	f, err := os.OpenFile(crit+"-in", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	f.Close()
	return func() { os.Remove(crit + "-in") }, nil
}
