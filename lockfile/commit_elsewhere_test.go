package lockfile_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// The path of the state leads elsewhere while the lock is held. What stands there has a lock of its
// own, which somebody else may hold: a write to that path is refused, one to the state is not.
func TestWriteToWhereThePathLeadsNow(t *testing.T) {
	notOnWine(t, "a directory with open files can be renamed, and links are made")
	t.Parallel()
	cases := map[string]struct {
		asked  string // L is a link to D, l to D/S, and D/k to S
		change func(dir string) error
		other  string // where the path leads then
		still  string // where the state is then
	}{
		"directory replaced": {"D/S", func(dir string) error {
			return cmp.Or(os.Rename(dir+"/D", dir+"/moved"), os.Mkdir(dir+"/D", 0o700))
		}, "D/S", "moved/S"},
		"link to the directory": {"L/S", func(dir string) error {
			return cmp.Or(os.Remove(dir+"/L"), os.Symlink("E", dir+"/L"))
		}, "E/S", "D/S"},
		"link to the state": {"l", func(dir string) error {
			return cmp.Or(os.Remove(dir+"/l"), os.Symlink("E/S", dir+"/l"))
		}, "E/S", "D/S"},
		"link beside the state": {"D/k", func(dir string) error {
			return cmp.Or(os.Remove(dir+"/D/k"), os.Symlink("T", dir+"/D/k"))
		}, "D/T", "D/S"},
		"file for the link": {"D/k", func(dir string) error {
			return cmp.Or(os.Remove(dir+"/D/k"), os.WriteFile(dir+"/D/k", nil, 0o600))
		}, "D/k", "D/S"},
		"link for the state": {"D/S", func(dir string) error {
			return cmp.Or(os.Rename(dir+"/D/S", dir+"/E/S"), os.Symlink("../E/S", dir+"/D/S"))
		}, "E/S", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Dir(newState(t))
			noError(t, cmp.Or(os.Mkdir(dir+"/D", 0o700), os.Mkdir(dir+"/E", 0o700),
				os.WriteFile(dir+"/D/S", []byte("old"), 0o600)))
			links := cmp.Or(os.Symlink("D", dir+"/L"), os.Symlink("D/S", dir+"/l"),
				os.Symlink("S", dir+"/D/k"))
			if links != nil {
				t.Skip("no links here: ", links)
			}
			asked := filepath.Join(dir, c.asked)
			lock, err := lockfile.Acquire(t.Context(), asked, lockfile.Options{})
			noError(t, err)
			below, err := lockfile.Inherit(asked, lock.Environ(), lockfile.Options{})
			noError(t, err)
			noError(t, lock.WriteFile(asked, []byte("mine"), 0o600))
			if err := c.change(dir); err != nil {
				t.Skip("that cannot be done under a lock here: ", err)
			}
			other, err := lockfile.TryAcquire(asked, lockfile.Options{})
			noError(t, err)
			noError(t, other.WriteFile(asked, []byte("theirs"), 0o600))

			refused := func(err error) {
				t.Helper()
				if e, ok := err.(*lockfile.Error); !ok || e.Step != "find the file" ||
					e.Path != asked || e.Next == "" {
					t.Errorf("a write to %s: %v", asked, err)
				}
			}
			refused(lock.WriteFile(asked, []byte("late"), 0o600))
			refused(lock.WriteFileKeeping(asked, "kept", []byte("late"), 0o600))
			refused(below.WriteFile(asked, []byte("late"), 0o600))
			if text := content(t, filepath.Join(dir, c.other)); text != "theirs" {
				t.Errorf("the other state is %q", text)
			}
			if c.still != "" {
				still := filepath.Join(dir, c.still)
				noError(t, lock.WriteFile(still, []byte("mine still"), 0o600))
				if text := content(t, still); text != "mine still" {
					t.Errorf("the state is %q", text)
				}
			}
			noError(t, lock.Check())
			noError(t, below.Close())
			noError(t, other.Release())
			noError(t, lock.Release())
		})
	}
}

// The directory was moved, and nothing stands in its place: to make one would be no help.
func TestWriteAfterTheDirectoryMoved(t *testing.T) {
	notOnWine(t, "a directory with open files can be renamed")
	t.Parallel()
	dir := filepath.Dir(newState(t))
	noError(t, os.Mkdir(dir+"/D", 0o700))
	asked := filepath.Join(dir, "D", "S")
	lock, err := lockfile.Acquire(t.Context(), asked, lockfile.Options{})
	noError(t, err)
	if err := os.Rename(dir+"/D", dir+"/moved"); err != nil {
		noError(t, lock.Release())
		t.Skip("a directory in use cannot be renamed here: ", err)
	}
	err = lock.WriteFile(asked, nil, 0o600)
	if e, ok := err.(*lockfile.Error); !ok || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(e.Next, "moved") {
		t.Errorf("a write to %s: %v", asked, err)
	}
	noError(t, lock.WriteFile(filepath.Join(dir, "moved", "S"), nil, 0o600))
	noError(t, lock.Release())
}
