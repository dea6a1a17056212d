package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that is started while a lock is held must not keep it: every descriptor ends at exec.
func TestDescriptorsEndAtExec(t *testing.T) {
	path := t.TempDir()
	dir, err := OS().OpenDir(path)
	must{t}.ok(err)
	parent, _, ok := OpenParent(OS(), filepath.Join(path, "a"))
	if !ok {
		t.Fatal("the directory cannot be opened in one step")
	}
	created, err := dir.Create("a", 0o600)
	must{t}.ok(err)
	opened, err := dir.Open("a", ReadWrite)
	must{t}.ok(err)
	appended, err := dir.Open("a", Append)
	must{t}.ok(err)
	seen, err := OpenSeen(dir, "a")
	must{t}.ok(err)
	pinned, err := dir.Pin("a")
	must{t}.ok(err)
	all := map[string]interface {
		Handle() uintptr
		Close() error
	}{"directory": dir, "parent": parent, "created": created, "opened": opened,
		"appended": appended, "seen": seen, "pinned": pinned}
	unnamed, err := dir.CreateUnnamed(0o600)
	if err == nil {
		all["unnamed"] = unnamed
	} else {
		must{t}.is(err, errors.ErrUnsupported)
	}
	Park(dir, created)
	for what, f := range all { // the directory is opened again here
		flags, err := unix.FcntlInt(f.Handle(), unix.F_GETFD, 0)
		must{t}.ok(err)
		if flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: children inherit the descriptor", what)
		}
	}
	for _, f := range all {
		must{t}.ok(f.Close())
	}
}

// What was a regular file when it was looked at may be anything when it is opened.
func TestSeenIsSomethingElse(t *testing.T) {
	dir := openTemp(t, "")
	path := dir.Path()
	must{t}.ok(put(t, dir, "victim", "x").Close())
	must{t}.ok(os.Symlink("victim", filepath.Join(path, "link")))
	must{t}.ok(os.Mkdir(filepath.Join(path, "folder"), 0o700))
	must{t}.ok(unix.Mkfifo(filepath.Join(path, "fifo"), 0o600))
	for _, name := range []string{"link", "folder", "fifo"} {
		if f, err := OpenSeen(dir, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		} else {
			must{t}.is(err, ErrNotRegular)
		}
	}
}

// A parked directory is found again by its path, or by a file in it where it has moved; never
// another one that stands at its path by now.
func TestParkedDirectory(t *testing.T) {
	root := t.TempDir()
	at, moved := filepath.Join(root, "at"), filepath.Join(root, "moved")
	must{t}.ok(os.Mkdir(at, 0o700))
	dir, err := OS().OpenDir(at)
	must{t}.ok(err)
	defer dir.Close()
	self, err := dir.Self()
	must{t}.ok(err)
	file, err := dir.Create("mine", 0o600)
	must{t}.ok(err)
	is := func(when string) {
		t.Helper()
		Park(dir, file)
		if now, err := dir.Self(); err != nil || !now.SameFile(self) {
			t.Errorf("%s: another directory, %v", when, err)
		}
		if _, err := dir.Stat("mine"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	is("at its place")
	must{t}.ok(os.Rename(at, moved))
	is("moved")
	must{t}.ok(os.Mkdir(at, 0o700))
	is("moved, and another one at its place")
	Park(dir, file)
	must{t}.ok(os.Remove(filepath.Join(moved, "mine")))
	must{t}.ok(file.Close())
	if _, err := dir.Stat("mine"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not to be found: %v", err)
	}
	if f, err := dir.Create("late", 0o600); err == nil {
		f.Close()
		t.Error("a file was made in another directory")
	}
}

func init() {
	children["mounted over"] = func(args []string) error {
		at := args[0]
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		open := func() (Dir, Info, error) {
			if err := unix.Mount("t", at, "tmpfs", 0, "size=64k"); err != nil {
				return nil, Info{}, err
			}
			d, err := OS().OpenDir(at)
			if err != nil {
				return nil, Info{}, err
			}
			self, err := d.Self()
			return d, self, err
		}
		dir, self, err := open()
		if err != nil {
			return err
		}
		file, err := dir.Create("mine", 0o600)
		if err != nil {
			return err
		}
		Park(dir, file)
		_, other, err := open()
		if err != nil {
			return err
		}
		if self.Inode != other.Inode || self.Device == other.Device {
			return fmt.Errorf("these show nothing: %+v, %+v", self, other)
		}
		if now, err := dir.Self(); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("covered: %+v, %v", now, err)
		}
		if base, _, _, ok := Within(OS(), at+"/mine", dir, self); ok {
			return fmt.Errorf("the path leads into the covered directory: %s", base)
		}
		if err := unix.Unmount(at, 0); err == nil {
			return errors.New("the other one is open, and was unmounted")
		} else if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			return err
		}
		_, err = dir.Stat("mine")
		return err
	}
}

// Another filesystem at the path of a parked directory is not taken for it, although the inodes of
// both have the same number.
func TestParkedDirectoryIsCovered(t *testing.T) {
	cmd := command(t, "mounted over", openTemp(t, "").Path())
	namespaces(t, cmd, unix.CLONE_NEWNS)
	begin(t, cmd).expect("done")
}
