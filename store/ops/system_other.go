//go:build !unix

package ops

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const openFlags = 0

// flush does nothing: Windows writes names through its journal, and has no call for folders.
func flush(*os.Root, string) error { return nil }

// rename puts a file in place of another. On Windows it is refused while somebody else has that
// open without sharing it, as a virus scanner does for a moment: it is tried again for a while.
func rename(root *os.Root, from, to string) error {
	const tries, pause = 50, 10 * time.Millisecond
	for n := 1; ; n++ {
		err := root.Rename(from, to)
		if !errors.Is(err, fs.ErrPermission) || n == tries {
			return err
		}
		time.Sleep(pause)
	}
}
