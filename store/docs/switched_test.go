package docs_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/docs"
)

// The path of the folder is a link, which is switched while a writer waits for the lock of a
// document: what it compares and changes is the one that it has the lock of.
func TestFolderLinkSwitched(t *testing.T) {
	for name, change := range map[string]func(*docs.Folder) error{
		"swap": func(f *docs.Folder) error {
			_, err := f.CompareAndSwap(always, "key", 1, json.RawMessage(`"new"`))
			return err
		},
		"delete": func(f *docs.Folder) error { return f.Delete(always, "key", 1) },
	} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		folders := map[string]*docs.Folder{}
		for _, name := range []string{"one", "two"} {
			noError(t, os.Mkdir(at(name), 0o700))
			f, err := docs.OpenFolder(at(name), docs.FolderOptions{})
			noError(t, err)
			_, err = f.CompareAndSwap(always, "key", docs.Absent, json.RawMessage(`"old"`))
			noError(t, err)
			folders[name] = f
		}
		if err := os.Symlink("one", at("current")); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		if info, err := os.Lstat(at("current")); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Skip("no symbolic links here")
		}
		held, err := lockfile.Acquire(always, folders["one"].Path("key"), lockfile.Options{})
		noError(t, err)
		waited := false
		f, err := docs.OpenFolder(at("current"), docs.FolderOptions{Lock: lockfile.Options{
			OnWaiting: func(lockfile.Inspection) {
				if waited {
					return
				}
				waited = true
				noError(t, os.Remove(at("current")))
				noError(t, os.Symlink("two", at("current")))
				noError(t, held.Release())
			}}})
		noError(t, err)
		noError(t, change(f))
		if !waited {
			t.Error(name, ": it did not wait")
		}
		two, err := folders["two"].Load(always, "key")
		if err != nil || two.Version != 1 || string(two.Value) != `"old"` {
			t.Errorf("%s: the other document: %+v, %v", name, two, err)
		}
		one, err := folders["one"].Load(always, "key")
		switch {
		case name == "delete" && !errors.Is(err, docs.ErrMissing),
			name == "swap" && (err != nil || one.Version != 2 || string(one.Value) != `"new"`):
			t.Errorf("%s: the document: %+v, %v", name, one, err)
		}
	}
}
