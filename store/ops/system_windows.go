package ops

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const openFlags = 0

// flush does nothing: Windows writes names through its journal, and has no call for folders.
func flush(*os.Root, string) error { return nil }

// A file can neither be opened nor replaced while somebody else has it open without sharing it, as
// a virus scanner does for a moment, or while it is being replaced: that is tried again for a
// while.

const pause = 10 * time.Millisecond

// again reports whether a file is worth another try, after a pause.
func again(err error) bool {
	if !errors.Is(err, windows.ERROR_ACCESS_DENIED) &&
		!errors.Is(err, windows.ERROR_SHARING_VIOLATION) &&
		!errors.Is(err, windows.ERROR_DELETE_PENDING) {
		return false
	}
	time.Sleep(pause)
	return true
}

// give leaves files to whoever makes them.
func give(*os.Root, string) error { return nil }
