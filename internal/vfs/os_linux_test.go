package vfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What stands where a lock should be: nothing waits, nothing is followed, nothing changes.
func TestHostileNames(t *testing.T) {
	places(t, func(t *testing.T, d Dir) {
		m := must{t}
		at := func(name string) string { return filepath.Join(d.Path(), name) }
		m.ok(os.WriteFile(at("victim"), []byte("untouched"), 0o600))
		m.ok(os.Symlink("victim", at("link")))
		m.ok(os.Symlink("nowhere", at("dangling")))
		m.ok(os.Symlink("/dev/zero", at("zero")))
		m.ok(os.Symlink("self", at("self")))
		m.ok(unix.Mkfifo(at("fifo"), 0o600))
		m.ok(os.Mkdir(at("dir"), 0o700))
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		m.ok(err)
		defer unix.Close(fd)
		t.Chdir(d.Path()) // a socket address is short
		m.ok(unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
		kinds := map[string]string{"link": "symbolic link", "dangling": "symbolic link",
			"zero": "symbolic link", "self": "symbolic link", "fifo": "FIFO", "dir": "directory",
			"socket": "socket"}
		// 1:5 is /dev/zero. Opening works only where devices are allowed, refusing always.
		if err := unix.Mknod(at("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err == nil {
			kinds["device"] = "device"
		}
		before, err := d.Names()
		m.ok(err)
		for name, kind := range kinds {
			for _, access := range []Access{Read, ReadWrite} {
				_, err := d.Open(name, access)
				if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), kind) ||
					!strings.Contains(err.Error(), at(name)) {
					t.Errorf("Open(%s, %d): %v", name, access, err)
				}
			}
			if _, err := d.Create(name, 0o600); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create(%s): %v", name, err)
			}
			in, err := d.Stat(name)
			if err != nil || in.Mode.IsRegular() {
				t.Errorf("Stat(%s): %+v, %v", name, in, err)
			}
			p, err := d.Pin(name)
			m.ok(err)
			if pinned, err := p.Stat(); err != nil || !pinned.SameFile(in) {
				t.Errorf("Pin(%s): %+v, %v", name, pinned, err)
			}
			m.ok(p.Close())
			for _, way := range []func(old, new string) error{d.Link, d.RenameNoReplace} {
				if err := way("victim", name); !errors.Is(err, fs.ErrExist) {
					t.Errorf("publish onto %s: %v", name, err)
				}
			}
		}
		after, err := d.Names()
		m.ok(err)
		if len(after) != len(before) || content(t, d, "victim") != "untouched" {
			t.Errorf("names %q, victim %q", after, content(t, d, "victim"))
		}
		m.ok(os.Truncate(at("victim"), 5<<30)) // sparse
		f, err := d.Open("victim", Read)
		m.ok(err)
		defer f.Close()
		if in, err := f.Stat(); err != nil || in.Size != 5<<30 {
			t.Errorf("a file of 5 GiB: %+v, %v", in, err)
		}
		b := make([]byte, 4)
		if n, err := f.ReadAt(b, 5<<30-4); n != 4 || err != nil {
			t.Errorf("reading its end: %d, %v", n, err)
		}
	})
}

// What is no regular file is not even opened: opening a device may do something.
func TestRefusedUnopened(t *testing.T) {
	d := openTemp(t, "")
	m := must{t}
	fifo := filepath.Join(d.Path(), "fifo")
	m.ok(unix.Mkfifo(fifo, 0o600))
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	m.ok(err)
	defer unix.Close(watch)
	_, err = unix.InotifyAddWatch(watch, fifo, unix.IN_OPEN)
	m.ok(err)
	for _, access := range []Access{Read, ReadWrite} {
		_, err = d.Open("fifo", access)
		m.is(err, ErrNotRegular)
	}
	n, err := unix.Read(watch, make([]byte, 4096))
	if err != unix.EAGAIN {
		t.Errorf("it was opened: %d, %v", n, err)
	}
}

func init() {
	children["umask"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		for _, mask := range []int{0, 0o022, 0o077, 0o777} {
			syscall.Umask(mask)
			for _, mode := range []fs.FileMode{0o600, 0o644, 0o666, 0o000} {
				name := fmt.Sprintf("%o-%o", mask, mode)
				f, err := d.Create(name, mode)
				if err != nil {
					return err
				}
				g, err := d.CreateUnnamed(mode)
				if err != nil {
					return err
				}
				for _, f := range []File{f, g} {
					if in, err := f.Stat(); err != nil || in.Mode != mode {
						return fmt.Errorf("%s: mode %v, %v", name, in.Mode, err)
					}
				}
				if err := d.LinkUnnamed(g, name+"u"); err != nil {
					return err
				}
				f.Close()
				g.Close()
			}
		}
		return nil
	}
}

func TestUmask(t *testing.T) {
	places(t, func(t *testing.T, d Dir) { begin(t, command(t, "umask", d.Path())).expect("done") })
}

func init() {
	// With no descriptor left, everything fails and says why; with one again, everything works.
	children["emfile"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		open := []func() (File, error){
			func() (File, error) { return d.Open("a", Read) },
			func() (File, error) { return d.Pin("a") },
			func() (File, error) { return d.Create("b", 0o600) },
			func() (File, error) { return d.CreateUnnamed(0o600) },
		}
		n, err := unix.Dup(0)
		if err != nil {
			return err
		}
		lim := unix.Rlimit{Cur: uint64(n), Max: uint64(n) + 1}
		unix.Close(n)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return err
		}
		for i, fn := range open {
			if _, err := fn(); !errors.Is(err, syscall.EMFILE) {
				return fmt.Errorf("step %d without a descriptor: %v", i, err)
			}
		}
		if _, err := d.Names(); !errors.Is(err, syscall.EMFILE) {
			return fmt.Errorf("names without a descriptor: %v", err)
		}
		if _, err := d.Stat("b"); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("a refused create left a file: %v", err)
		}
		lim.Cur++
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return err
		}
		for i, fn := range open {
			f, err := fn()
			if err != nil {
				return fmt.Errorf("step %d with one descriptor: %v", i, err)
			}
			f.Close()
		}
		return nil
	}
}

func TestNoDescriptors(t *testing.T) {
	d := openTemp(t, "")
	put(t, d, "a", "A")
	begin(t, command(t, "emfile", d.Path())).expect("done")
}

func init() {
	children["full"] = func(args []string) error {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount("t", args[0], "tmpfs", 0, "size=64k"); err != nil {
			return err
		}
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		old, err := write(d, "old", "old content")
		if err != nil {
			return err
		}
		f, err := d.Create("big", 0o600)
		if err != nil {
			return err
		}
		big := make([]byte, 1<<20)
		n, err := f.WriteAt(big, 0)
		if !errors.Is(err, syscall.ENOSPC) || n == 0 || n >= 1<<16 {
			return fmt.Errorf("WriteAt on a full disk: %d, %v", n, err)
		}
		if !strings.Contains(err.Error(), "write "+args[0]+"/big: no space left") {
			return fmt.Errorf("an error that does not say what: %v", err)
		}
		// What has to work on a full disk: overwrite in place, rename, remove, lock, flush.
		if _, err := old.WriteAt([]byte("new content"), 0); err != nil {
			return err
		}
		for _, err := range []error{old.Lock(LockOFD), old.Sync(), d.Exchange("old", "big"),
			old.Unlock(LockOFD), d.Remove("old"), d.Remove("big"), d.Sync(), f.Close(), old.Close()} {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func TestFullDisk(t *testing.T) {
	cmd := command(t, "full", openTemp(t, "").Path())
	namespaces(t, cmd, unix.CLONE_NEWNS)
	begin(t, cmd).expect("done")
}

// Whoever may write and search a directory but not list it can do everything but list it.
func init() {
	children["unreadable"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		f, err := write(d, "a", "A")
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := d.RenameNoReplace("a", "b"); err != nil {
			return err
		}
		if err := d.Sync(); err != nil {
			return err
		}
		if _, err := d.Names(); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("names: %v", err)
		}
		var st unix.Statfs_t
		return unix.Fstatfs(int(d.Handle()), &st)
	}
}

func TestUnreadableDirectory(t *testing.T) {
	path := worldTemp(t)
	must{t}.ok(os.Chmod(path, 0o333))
	cmd := command(t, "unreadable", path)
	nobody(t, cmd)
	begin(t, cmd).expect("done")
}

func init() {
	// No /proc, no privileges.
	children["chroot"] = func([]string) error {
		d, err := OS().OpenDir("/")
		if err != nil {
			return err
		}
		f, err := d.CreateUnnamed(0o600)
		if err != nil {
			return err
		}
		if err := d.LinkUnnamed(f, "a"); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return nil
	}
}

func TestLinkUnnamedWithoutProc(t *testing.T) {
	path := worldTemp(t)
	if bin, err := elf.Open("/proc/self/exe"); err != nil {
		t.Fatal(err)
	} else if bin.Close(); bin.Section(".interp") != nil {
		t.Skip("with cgo (race detector) the test binary cannot run without its libraries")
	}
	exe, err := os.ReadFile("/proc/self/exe")
	must{t}.ok(err)
	must{t}.ok(os.WriteFile(filepath.Join(path, "exe"), exe, 0o755))
	cmd := command(t, "chroot")
	nobody(t, cmd)
	cmd.Path, cmd.SysProcAttr.Chroot, cmd.Dir = "/exe", path, "/"
	begin(t, cmd).expect("done")
	if _, err := os.Stat(filepath.Join(path, "a")); err != nil {
		t.Log("an unnamed file cannot be linked here without /proc")
	}
}

// A directory that was removed while it was open is gone, and not "unsupported".
func TestRemovedDirectory(t *testing.T) {
	places(t, func(t *testing.T, d Dir) {
		must{t}.ok(os.Mkdir(filepath.Join(d.Path(), "sub"), 0o700))
		sub, err := OS().OpenDir(filepath.Join(d.Path(), "sub"))
		must{t}.ok(err)
		defer sub.Close()
		f, err := sub.CreateUnnamed(0o600)
		must{t}.ok(err)
		defer f.Close()
		must{t}.ok(os.Remove(sub.Path()))
		g, err := sub.CreateUnnamed(0o600)
		if err == nil { // tmpfs makes one that can have no name
			err = sub.LinkUnnamed(g, "a")
			g.Close()
		}
		for i, err := range []error{err, second(sub.Create("a", 0o600)), sub.LinkUnnamed(f, "a"),
			second(sub.Open("a", Read))} {
			if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// places are the directories that tests run in: one on disk, one in memory.
func places(t *testing.T, fn func(t *testing.T, d Dir)) {
	t.Helper()
	for name, root := range map[string]string{"disk": "", "memory": "/dev/shm"} {
		t.Run(name, func(t *testing.T) { fn(t, openTemp(t, root)) })
	}
}
