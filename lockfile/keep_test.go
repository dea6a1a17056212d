package lockfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// What is replaced stays under the name that was asked for, in one step with the replacement.
func TestWriteFileKeeping(t *testing.T) {
	state := newState(t)
	kept := state + ".previous"
	lock := tryAcquire(t, state, lockfile.Options{})
	write := func(data string) error {
		return lock.WriteFileKeeping(state, filepath.Base(kept), []byte(data), 0o600)
	}
	noError(t, write("1"))
	if _, err := os.Lstat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there was nothing to keep: %v", err)
	}
	noError(t, write("2"))
	holds(t, state, "2")
	holds(t, kept, "1")
	noError(t, write("3"))
	holds(t, state, "3")
	holds(t, kept, "2")

	// What cannot be kept is not replaced.
	noError(t, os.Remove(kept))
	noError(t, os.Mkdir(kept, 0o700))
	if err := write("4"); err == nil {
		t.Error("a directory was replaced")
	}
	holds(t, state, "3")
	noError(t, os.Remove(kept))
	for _, name := range []string{"", ".", "..", "a/b", kept, filepath.Base(state),
		filepath.Base(state) + ".lock", filepath.Base(state) + ".fence"} {
		if err := lock.WriteFileKeeping(state, name, []byte("5"), 0o600); err == nil {
			t.Errorf("kept as %q", name)
		}
	}
	holds(t, state, "3")
	onlyFiles(t, state, "", ".lock", ".fence")

	// After a loss neither changes.
	noError(t, write("6"))
	_, err := lockfile.Break(always, state, lockfile.BreakRequest{LockID: lock.ID(), Reason: "test",
		EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
	wantError(t, write("7"), lockfile.ErrFenced)
	holds(t, state, "6")
	holds(t, kept, "3")
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// onlyFiles checks that nothing stands beside the state but these.
func onlyFiles(t *testing.T, state string, suffixes ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(state))
	noError(t, err)
	for _, e := range entries {
		rest := e.Name()[len(filepath.Base(state)):]
		if !slices.Contains(suffixes, rest) {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}
