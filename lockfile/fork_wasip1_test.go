package lockfile_test

// unforked runs fn: nothing starts a process here.
func unforked(fn func()) { fn() }
