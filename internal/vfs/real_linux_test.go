package vfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
)

// The path of a directory is the real one, however it was spelled, and no second look is needed
// where there is no link in it.
func TestOpenParentPath(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/b", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "a"))
	for _, path := range []string{
		deep + "/state", root + "/a/../a/./b//state", root + "/link/state", "b/state",
		"./b/../b/state", "../link/state", root + "/link/../b/state",
	} {
		d, base, ok := vfs.OpenParent(vfs.OS(), path)
		if !ok {
			t.Fatalf("%s: not opened", path)
		}
		if base != "state" || d.Path() != deep {
			t.Errorf("%s: %s in %s, want %s", path, base, d.Path(), deep)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A link on the way to a directory leads elsewhere before anybody asks for its path, which is the
// real one all the same.
func TestPathAfterALinkChanged(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	ok := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b, link := filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "link")
	ok(err, os.Mkdir(a, 0o755), os.Mkdir(b, 0o755), os.Symlink("a", link))
	d, _, opened := vfs.OpenParent(vfs.OS(), link+"/state")
	if !opened {
		t.Fatal("not opened")
	}
	ok(os.Remove(link))
	ok(os.Symlink("b", link))
	if d.Path() != a {
		t.Errorf("%s, want %s", d.Path(), a)
	}
	ok(d.Close())
}

// A path leads into an open directory however it is spelled, and not where another directory stands
// in that place by now, or a link would have to be followed.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	for _, err := range []error{
		os.MkdirAll(deep, 0o755), os.Symlink("a/b", filepath.Join(root, "link")),
		os.WriteFile(filepath.Join(deep, "state"), []byte("text"), 0o600),
		os.Symlink("state", filepath.Join(deep, "other")),
		os.WriteFile(filepath.Join(root, "state"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := vfs.OS().OpenDir(deep)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	self, err := d.Self()
	if err != nil {
		t.Fatal(err)
	}
	check := func(path, base string, size int64, there, leads bool) {
		t.Helper()
		got, info, is, ok := vfs.Within(vfs.OS(), path, d, self)
		if ok != leads || ok && (got != base || is != there || info.Size != size) {
			t.Errorf("%s: %q of %d bytes, there %v, leads %v", path, got, info.Size, is, ok)
		}
	}
	t.Chdir(deep)
	for _, at := range []string{"", "./", deep + "/", "../b/", "../../link/", root + "/link//"} {
		check(at+"state", "state", 4, true, true)
		check(at+"none", "none", 0, false, true)
		check(at+"other", "", 0, false, false)
	}
	for _, path := range []string{
		"", ".", "..", "/", "../state", root + "/state", root + "/none/state", "state/", "state/x",
		"a\x00b", deep,
	} {
		check(path, "", 0, false, false)
	}
	if err := os.Rename(deep, deep+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	check(deep+"/state", "", 0, false, false)
	check(deep+".moved/state", "state", 4, true, true)
	check("state", "state", 4, true, true)
}

// A prefix picks out of many names, over several reads of the directory, those that have it.
func TestNamesWithOfMany(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 2000 {
		name := fmt.Sprintf("n%d-%s", i, strings.Repeat("x", i%200))
		if strings.HasPrefix(name, "n19") {
			want = append(want, name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := vfs.OS().OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := vfs.NamesWith(d, "n", []string{"", "19"}[1:])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d names, want %d: %q", len(got), len(want), got)
	}
	all, err := d.Names()
	if err != nil {
		t.Fatal(err)
	}
	every, err := vfs.NamesWith(d, "", []string{""})
	slices.Sort(all)
	slices.Sort(every)
	if err != nil || !slices.Equal(all, every) {
		t.Errorf("%d names with no prefix, %d in all: %v", len(every), len(all), err)
	}
}

// A file that grows after it was opened is read to its end, and one that shrinks no further.
func TestReadAfterOpening(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	d, err := vfs.OS().OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for then, now := range map[string]string{
		"1234": "1234", "123": "12345678", "12345": "12", "": "12", "12": "",
	} {
		if err := os.WriteFile(path, []byte(then), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := vfs.OpenSeen(d, "f")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{1, 2, 3, 4, 5, 8, 9, 64} {
			buf := make([]byte, room)
			n, err := f.ReadAt(buf, 0)
			want := now[:min(room, len(now))]
			if string(buf[:n]) != want || (err != nil) != (n < room) {
				t.Errorf("%q, then %q, room for %d: %q, %v", then, now, room, buf[:n], err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
