//go:build !windows

package probetest

// OnWine reports whether the program runs on Wine, where some things differ from Windows.
func OnWine() bool { return false }
