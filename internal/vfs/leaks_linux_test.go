package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/vfstest"
)

// Every way through, the failing ones too, leaves as many descriptors as there were.
func TestNoDescriptorLeaks(t *testing.T) {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.EvalSymlinks(t.TempDir())
	ok(err)
	d, err := vfs.OS().OpenDir(path)
	ok(err)
	defer d.Close()
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		ok(err)
		return len(fds)
	}
	ok(os.Mkdir(filepath.Join(d.Path(), "dir"), 0o700))
	ok(os.WriteFile(filepath.Join(path, "there"), nil, 0o600))
	before := count()
	for range 50 {
		for _, publish := range vfstest.Publishers {
			ok(publish(d, "temp", "name", "x"))
			if err := publish(d, "temp", "there", "x"); !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
			ok(d.Remove("name"))
		}
		d.Open("dir", vfs.Read)
		d.Open("nothing", vfs.ReadWrite)
		d.Create("there", 0o600)
		d.Names()
		if e, err := vfs.OS().OpenDir(filepath.Join(d.Path(), "there")); err == nil {
			t.Fatal(e)
		}
	}
	if after := count(); after > before { // what earlier tests left may be closed meanwhile
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
