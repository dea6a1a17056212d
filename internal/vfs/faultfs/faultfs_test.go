package faultfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open wraps the real file system and opens a directory of it.
func open(t *testing.T, decide faultfs.Decide) (vfs.Dir, string) {
	t.Helper()
	path := t.TempDir()
	d, err := faultfs.Wrap(vfs.OS(), decide).OpenDir(path)
	noError(t, err)
	t.Cleanup(func() { d.Close() })
	return d, path
}

// Every operation is asked about once, in order, and happens.
func TestEverythingPasses(t *testing.T) {
	var seen []string
	d, path := open(t, func(op faultfs.Op) faultfs.Action {
		if op.N != len(seen)+1 {
			t.Errorf("number %d after %d", op.N, len(seen))
		}
		seen = append(seen, op.String())
		return faultfs.Action{}
	})
	f, err := d.Create("a", 0o600)
	noError(t, err)
	_, err = f.WriteAt([]byte("text"), 0)
	noError(t, err)
	noError(t, f.Sync())
	noError(t, f.Lock(vfs.NativeLock()))
	noError(t, f.Unlock(vfs.NativeLock()))
	noError(t, f.Close())
	noError(t, d.Rename("a", "b"))
	_, err = d.Stat("b")
	noError(t, err)
	names, err := d.Names()
	noError(t, err)
	content, err := os.ReadFile(filepath.Join(path, "b"))
	noError(t, err)
	if string(content) != "text" || !slices.Equal(names, []string{"b"}) {
		t.Errorf("%q in %q", content, names)
	}
	want := []string{"open-dir", "create a", "write a", "flush a", "lock a", "unlock a",
		"rename a b", "look-at b", "list"}
	if !slices.Equal(seen, want) {
		t.Errorf("asked about\n%q, want\n%q", seen, want)
	}
}

// What fails does not happen, and says what the real file system would say.
func TestFailing(t *testing.T) {
	var errno syscall.Errno
	d, path := open(t, func(op faultfs.Op) faultfs.Action {
		if errno == 0 {
			return faultfs.Action{}
		}
		return faultfs.Action{Err: errno}
	})
	noError(t, os.WriteFile(filepath.Join(path, "a"), nil, 0o600))
	f, err := d.Open("a", vfs.ReadWrite)
	noError(t, err)
	defer f.Close()

	errno = syscall.ENOSPC
	err = d.Rename("a", "b")
	var link *os.LinkError
	if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &link) ||
		link.Old != filepath.Join(path, "a") {
		t.Errorf("rename: %v", err)
	}
	_, err = d.Create("c", 0o600)
	var at *fs.PathError
	if !errors.As(err, &at) || at.Path != filepath.Join(path, "c") {
		t.Errorf("create: %v", err)
	}
	if names, _ := os.ReadDir(path); len(names) != 1 || names[0].Name() != "a" {
		t.Errorf("there is %v", names)
	}
	for _, c := range []struct {
		errno syscall.Errno
		do    func() error
		is    []error
	}{
		{syscall.EAGAIN, func() error { return f.Lock(vfs.NativeLock()) }, []error{vfs.ErrLocked}},
		{syscall.ENOLCK, func() error { return f.Lock(vfs.NativeLock()) },
			[]error{vfs.ErrNoLocks, errors.ErrUnsupported, syscall.ENOLCK}},
		{syscall.EPERM, func() error { return d.Link("a", "b") },
			[]error{errors.ErrUnsupported, syscall.EPERM}},
		{syscall.EINVAL, func() error { return d.Exchange("a", "b") },
			[]error{errors.ErrUnsupported}},
		{syscall.EACCES, func() error { return d.Remove("a") }, []error{fs.ErrPermission}},
	} {
		errno = c.errno
		err := c.do()
		for _, is := range c.is {
			if !errors.Is(err, is) {
				t.Errorf("%v: %v does not match %v", c.errno, err, is)
			}
		}
		if c.errno == syscall.EPERM && errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v is a missing call, and not a matter of rights", err)
		}
	}
}

// Half of a write happens, and then what was decided.
func TestHalfWrites(t *testing.T) {
	var act faultfs.Action
	d, _ := open(t, func(op faultfs.Op) faultfs.Action {
		if op.Writes {
			return act
		}
		return faultfs.Action{}
	})
	f, err := d.Create("a", 0o600)
	noError(t, err)
	defer f.Close()
	did := false
	for _, c := range []struct {
		act faultfs.Action
		is  error
	}{
		{faultfs.Action{Half: true}, io.ErrShortWrite},
		{faultfs.Action{Half: true, Err: syscall.ENOSPC}, syscall.ENOSPC},
		{faultfs.Action{Half: true, Do: func() { did = true }}, io.ErrShortWrite},
	} {
		noError(t, f.Truncate(0))
		act = c.act
		n, err := f.WriteAt([]byte("text"), 0)
		// Not by name: Windows does not let package os open what its maker has open.
		content := make([]byte, 8)
		size, _ := f.ReadAt(content, 0)
		content = content[:size]
		if n != 2 || !errors.Is(err, c.is) || string(content) != "te" {
			t.Errorf("%+v: %d, %v, %q", c.act, n, err, content)
		}
	}
	if !did {
		t.Error("not done")
	}
}
