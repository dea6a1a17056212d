//go:build !windows

package lockfile_test

import (
	"os"
	"testing"
)

// readShared and writeShared are what programs do that mind nobody's locks.
func readShared(path string) ([]byte, error)        { return os.ReadFile(path) }
func writeShared(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

// fewerOnWine is n: the machine is as fast as it is.
func fewerOnWine(n int) int { return n }

// notOnWine skips nothing here.
func notOnWine(testing.TB, string) {}
