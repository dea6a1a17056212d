//go:build unix

package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// Somebody removes the directory with everything in it, or the record and the fence: the lock is
// lost, by nobody's takeover, nothing is written, and Release ends it.
func TestRemovedWithAll(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"directory": os.RemoveAll,
		"files": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "state.lock")),
				os.Remove(filepath.Join(dir, "state.fence")))
		},
	} {
		for _, fresh := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "dir")
			noError(t, os.Mkdir(dir, 0o700))
			state := filepath.Join(dir, "state")
			lock := tryAcquire(t, state, lockfile.Options{FreshToken: fresh})
			noError(t, remove(dir))
			ran := false
			for what, err := range map[string]error{
				"check": lock.Check(),
				"commit": lock.Commit(context.Background(), func() error {
					ran = true
					return nil
				}),
				"write":   lock.WriteFile(state, []byte("late"), 0o600),
				"release": lock.Release(),
			} {
				if !errors.Is(err, lockfile.ErrLost) || errors.Is(err, lockfile.ErrFenced) {
					t.Errorf("%s, fresh %v, %s: %v", name, fresh, what, err)
				}
			}
			<-lock.Context().Done()
			if cause := context.Cause(lock.Context()); !errors.Is(cause, lockfile.ErrLost) {
				t.Errorf("%s, fresh %v: the context ended with %v", name, fresh, cause)
			}
			if err := lock.Release(); !errors.Is(err, lockfile.ErrReleased) || ran {
				t.Errorf("%s, fresh %v: again %v, ran %v", name, fresh, err, ran)
			}
			if _, err := os.Stat(state); err == nil {
				t.Errorf("%s, fresh %v: written", name, fresh)
			}
		}
	}
}

// Only Release is called after the directory was removed.
func TestReleaseAfterRemoval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	noError(t, os.Mkdir(dir, 0o700))
	lock := tryAcquire(t, filepath.Join(dir, "state"), lockfile.Options{})
	noError(t, os.RemoveAll(dir))
	if err := lock.Release(); !errors.Is(err, lockfile.ErrLost) {
		t.Error(err)
	}
	if err := lock.Release(); !errors.Is(err, lockfile.ErrReleased) {
		t.Error(err)
	}
}
