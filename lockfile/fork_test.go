//go:build !wasip1

package lockfile_test

import "syscall"

// unforked runs what opens records, while no test of this process starts another one: until that
// has become its program it has every file open that is open here, and a torn record that somebody
// has open is no orphan.
func unforked(fn func()) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fn()
}
