package fence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/internal/vfs"
)

// skip is a failure where the environment promises that everything can be tried.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("PROBATE_TEST_NOSKIP") != "" {
		t.Fatal("must not be skipped: " + why)
	}
	t.Skip(why)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "only root can be somebody else, and mount")
	}
}

// nobody makes cmd run as another user, from a copy that this user can reach.
func nobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	needRoot(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	exe, err := os.ReadFile("/proc/self/exe")
	check(t, err)
	cmd.Path = filepath.Join(worldTemp(t), "exe")
	check(t, os.WriteFile(cmd.Path, exe, 0o755))
	cmd.Dir = "/"
}

func worldTemp(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("/tmp", "fence-world-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(path) })
	check(t, os.Chmod(path, 0o777))
	return path
}

func init() {
	// user: as somebody without rights. What may not be done says so, and changes nothing.
	children["user"] = func(args []string) error {
		open := func(name string) *Counter {
			c, err := Open(filepath.Join(args[0], name))
			if err != nil {
				panic(err)
			}
			return c
		}
		for name, readable := range map[string]bool{"private": false, "readable": true} {
			now, err := open(name).Current()
			if readable && (now != 7 || err != nil) ||
				!readable && !errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("%s: Current: %d, %v", name, now, err)
			}
			if _, err := open(name).TryHold(); !errors.Is(err, fs.ErrPermission) ||
				errors.Is(err, ErrGateBusy) || errors.Is(err, errors.ErrUnsupported) {
				return fmt.Errorf("%s: TryHold: %v", name, err)
			}
		}
		if now, err := up(open("writable")); now != 8 || err != nil {
			return fmt.Errorf("writable: %d, %v", now, err)
		}
		if now, err := open("locked/S.fence").Current(); now != 0 || err != nil {
			return fmt.Errorf("missing in a directory for reading: Current: %d, %v", now, err)
		}
		if _, err := open("locked/S.fence").TryHold(); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("missing in a directory for reading: TryHold: %v", err)
		}
		return nil
	}
	// busy: sees that another user is inside.
	children["busy"] = func(args []string) error {
		c, err := Open(args[0])
		if err != nil {
			return err
		}
		if _, err := c.TryHold(); !errors.Is(err, ErrGateBusy) {
			return fmt.Errorf("TryHold: %v", err)
		}
		return nil
	}
	// full: a disk without room. A counter that exists goes on, a new one fails and leaves nothing.
	children["full"] = func(args []string) error {
		if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("t", args[0], "tmpfs", 0, "size=16k")); err != nil {
			return err
		}
		at := func(name string) string { return filepath.Join(args[0], name) }
		old, err := Open(at("old.fence"))
		if err != nil {
			return err
		}
		if _, err := up(old); err != nil {
			return err
		}
		if err := os.WriteFile(at("plain.fence"), []byte("3\n"), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(at("filler"), make([]byte, 1<<20), 0o600); !errors.Is(
			err,
			unix.ENOSPC,
		) {
			return fmt.Errorf("filling the disk: %v", err)
		}
		if now, err := up(old); now != 2 || err != nil {
			return fmt.Errorf("old on a full disk: %d, %v", now, err)
		}
		plain, err := Open(at("plain.fence"))
		if err != nil {
			return err
		}
		if now, err := up(plain); now != 4 || err != nil {
			return fmt.Errorf("plain on a full disk: %d, %v", now, err)
		}
		fresh, err := Open(at("new.fence"))
		if err != nil {
			return err
		}
		if _, err := up(fresh); !errors.Is(err, unix.ENOSPC) || errors.Is(err, ErrGateBusy) {
			return fmt.Errorf("new on a full disk: %v", err)
		}
		left, err := os.ReadDir(args[0])
		if err != nil || len(left) != 3 {
			return fmt.Errorf("left: %v, %v", left, err)
		}
		return nil
	}
	// readonly: reading works, everything else says why not.
	children["readonly"] = func(args []string) error {
		if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount(args[0], args[0], "", unix.MS_BIND, ""),
			unix.Mount("", args[0], "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
			return err
		}
		for name, n := range map[string]Token{"S.fence": 7, "missing": 0} {
			c, err := Open(filepath.Join(args[0], name))
			if err != nil {
				return err
			}
			if now, err := c.Current(); now != n || err != nil {
				return fmt.Errorf("%s: %d, %v", name, now, err)
			}
			if _, err := c.TryHold(); !errors.Is(err, unix.EROFS) {
				return fmt.Errorf("%s: %v", name, err)
			}
		}
		return nil
	}
	// emfile: no descriptors left.
	children["emfile"] = func(args []string) error {
		there, err := Open(filepath.Join(args[0], "S.fence"))
		if err != nil {
			return err
		}
		missing, err := Open(filepath.Join(args[0], "missing"))
		if err != nil {
			return err
		}
		n, err := unix.Dup(0)
		if err != nil {
			return err
		}
		unix.Close(n)
		for room := range 2 { // none, and one: for the directory
			lim := unix.Rlimit{Cur: uint64(n + room), Max: uint64(n + 8)}
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
				return err
			}
			for _, c := range []*Counter{there, missing} {
				if _, err := c.TryHold(); !errors.Is(err, unix.EMFILE) {
					return fmt.Errorf("%s, room for %d: %v", c.Path(), room, err)
				}
				if _, err := c.Current(); !errors.Is(err, unix.EMFILE) &&
					(c == there || room == 0) {
					return fmt.Errorf("%s, room for %d: Current: %v", c.Path(), room, err)
				}
			}
		}
		lim := unix.Rlimit{Cur: uint64(n + 2), Max: uint64(n + 8)}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return err
		}
		for range 100 { // two are enough, again and again: none is leaked
			if err := errors.Join(second(up(there)), second(up(missing))); err != nil {
				return err
			}
		}
		return nil
	}
}

func second[T any](_ T, err error) error { return err }

func TestOtherUsers(t *testing.T) {
	path := worldTemp(t)
	modes := map[string]fs.FileMode{"private": 0o600, "readable": 0o644, "writable": 0o666}
	for name, mode := range modes {
		check(t, os.WriteFile(filepath.Join(path, name), encode(7), 0o600))
		check(t, os.Chmod(filepath.Join(path, name), mode))
	}
	check(t, os.Mkdir(filepath.Join(path, "locked"), 0o755))
	cmd := command(t, "user", path)
	nobody(t, cmd)
	begin(t, cmd).expect(t, "done")
	names, err := os.ReadDir(filepath.Join(path, "locked"))
	if err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	c, err := Open(filepath.Join(path, "writable"))
	check(t, err)
	g, err := c.Hold(context.Background())
	check(t, err)
	cmd = command(t, "busy", filepath.Join(path, "writable"))
	nobody(t, cmd)
	begin(t, cmd).expect(t, "done")
	check(t, g.Release())
}

func TestSpoiltSystems(t *testing.T) {
	for _, name := range []string{"full", "readonly", "emfile"} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			check(t, os.WriteFile(filepath.Join(path, "S.fence"), encode(7), 0o600))
			cmd := command(t, name, path)
			if name != "emfile" {
				needRoot(t)
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			}
			begin(t, cmd).expect(t, "done")
		})
	}
}

// A child that was forked while the gate was held has the same open file. It does not keep the
// gate.
func TestReleaseUnlocks(t *testing.T) {
	c, _ := newCounter(t, Options{})
	for range 2 { // created by this gate, and not
		g, err := c.TryHold()
		check(t, err)
		fd, err := unix.FcntlInt(g.(*fileGate).f.Handle(), unix.F_DUPFD_CLOEXEC, 0)
		check(t, err)
		defer unix.Close(fd)
		check(t, g.Release())
		_, err = held(c)
		check(t, err)
	}
}

// A new file belongs to whom the options say.
func TestOwner(t *testing.T) {
	needRoot(t)
	for _, lacks := range []string{"nothing", "create unnamed"} {
		c, d, path := newFaulty(t, Options{UID: 65534, GID: 65533, Mode: 0o620})
		d.before = unsupported(lacks)
		_, err := up(c)
		check(t, err)
		info, err := d.Stat("S.fence")
		if err != nil || info.UID != 65534 || info.GID != 65533 || info.Mode != 0o620 {
			t.Errorf("%s: %+v, %v", path, info, err)
		}
	}
}

// What only looks or waits never leaves a descriptor open, whatever comes of it.
func TestNoDescriptorLeaks(t *testing.T) {
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		check(t, err)
		return len(fds)
	}
	dir := t.TempDir()
	paths := []string{"good", "damaged", "dir", "fifo", "link", "missing/x", "new"}
	check(t, os.WriteFile(filepath.Join(dir, "damaged"), nil, 0o600))
	check(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	check(t, mkfifo(filepath.Join(dir, "fifo")))
	check(t, os.Symlink("fifo", filepath.Join(dir, "link")))
	check(t, os.Mkdir(filepath.Join(dir, "missing"), 0o700))
	var counters []*Counter
	for _, p := range paths {
		c, err := Open(filepath.Join(dir, p))
		check(t, err)
		counters = append(counters, c)
	}
	check(t, os.Remove(filepath.Join(dir, "missing")))
	before := count()
	for range 50 {
		for _, c := range counters {
			c.Current()
			if g, err := c.TryHold(); err == nil {
				c.TryHold()
				g.Raise(0)
				g.Release()
			}
			c.Guard(context.Background(), 5, func() error { return nil })
		}
	}
	if after := count(); after > before { // what earlier tests left may be closed meanwhile
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if vfs.NativeLock() != vfs.LockOFD {
		t.Errorf("the native lock is %s", vfs.NativeLock())
	}
}
