package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

var kinds = []LockKind{LockOFD, LockFlock}

// What is not a kind of lock here is no kernel lock.
func TestLockKinds(t *testing.T) {
	f := put(t, openTemp(t, ""), "x", "x")
	for _, err := range []error{f.Lock(LockHandle), f.Unlock(LockHandle), f.Lock("")} {
		must{t}.is(err, errors.ErrUnsupported)
	}
}

// Somebody who reads under a lock of its own is no owner.
func TestReadLockIsNoOwner(t *testing.T) {
	d := openTemp(t, "")
	f := put(t, d, "a", "x")
	r, err := d.Open("a", Read)
	must{t}.ok(err)
	defer r.Close()
	must{t}.ok(unix.FcntlFlock(r.Handle(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}))
	if locked, err := f.Locked(LockOFD); err != nil || locked {
		t.Fatalf("Locked: %v, %v", locked, err)
	}
}

// The lock covers what the file will be, not only what it is.
func TestLockCoversGrowth(t *testing.T) {
	d := openTemp(t, "")
	own := put(t, d, "a", "")
	must{t}.ok(own.Lock(LockOFD))
	_, err := own.WriteAt([]byte("grown"), 1<<40)
	must{t}.ok(err)
	f, err := d.Open("a", ReadWrite)
	must{t}.ok(err)
	defer f.Close()
	must{t}.is(f.Lock(LockOFD), ErrLocked)
	lk := unix.Flock_t{Type: unix.F_WRLCK, Start: 1 << 40, Len: 1}
	err = unix.FcntlFlock(f.Handle(), unix.F_OFD_SETLK, &lk)
	must{t}.is(err, unix.EAGAIN)
}

func init() {
	children["lock"] = func(args []string) error { // lock it, and say so
		d, err := OS().OpenDir(filepath.Dir(args[0]))
		if err != nil {
			return err
		}
		f, err := d.Open(filepath.Base(args[0]), ReadWrite)
		if err != nil {
			return err
		}
		if err := f.Lock(LockKind(args[1])); err != nil {
			return err
		}
		say("locked")
		wait()
		return f.Close()
	}
	children["test"] = func(args []string) error { // test it each time a line comes
		d, err := OS().OpenDir(filepath.Dir(args[0]))
		if err != nil {
			return err
		}
		f, err := d.Open(filepath.Base(args[0]), Read)
		if errors.Is(err, fs.ErrPermission) {
			say("not permitted")
			return nil
		}
		if err != nil {
			return err
		}
		for range 2 {
			locked, err := f.Locked(LockKind(args[1]))
			if err != nil {
				return err
			}
			say("%v", locked)
			wait()
		}
		return nil
	}
}

func TestLockOfAnotherProcess(t *testing.T) {
	places(t, func(t *testing.T, d Dir) {
		for _, kind := range kinds {
			t.Run(string(kind), func(t *testing.T) {
				name := "a-" + string(kind)
				f := put(t, d, name, "x")
				c := begin(t, command(t, "lock", filepath.Join(d.Path(), name), string(kind)))
				c.expect("locked")
				must{t}.is(f.Lock(kind), ErrLocked)
				if locked, err := f.Locked(kind); err != nil || !locked {
					t.Fatalf("Locked: %v, %v", locked, err)
				}
				c.kill()
				if locked, err := f.Locked(kind); err != nil || locked {
					t.Fatalf("Locked after kill: %v, %v", locked, err)
				}
				must{t}.ok(f.Lock(kind))
			})
		}
	})
}

// Another user sees the lock through a descriptor for reading, in another pid namespace too, and
// gets to know that it may not look where it may not.
func TestLockSeenByOthers(t *testing.T) {
	path := worldTemp(t)
	d, err := OS().OpenDir(path)
	must{t}.ok(err)
	defer d.Close()
	for _, kind := range kinds {
		f := put(t, d, string(kind), "x")
		must{t}.ok(f.Chmod(0o644))
		must{t}.ok(f.Lock(kind))
		user := command(t, "test", filepath.Join(path, string(kind)), string(kind))
		nobody(t, user)
		container := command(t, "test", filepath.Join(path, string(kind)), string(kind))
		namespaces(t, container, unix.CLONE_NEWPID|unix.CLONE_NEWNS)
		a, b := begin(t, user), begin(t, container)
		a.expect("true")
		b.expect("true")
		must{t}.ok(f.Unlock(kind))
		a.in.Write([]byte("\n"))
		b.in.Write([]byte("\n"))
		a.expect("false")
		b.expect("false")
		must{t}.ok(f.Chmod(0o600))
		user = command(t, "test", filepath.Join(path, string(kind)), string(kind))
		nobody(t, user)
		begin(t, user).expect("not permitted")
	}
}

func init() {
	children["hold"] = func(args []string) error { // only keeps what it inherited
		wait()
		return nil
	}
}

// A descriptor that a child inherited keeps the lock after the parent closed its own; Unlock gives
// it up all the same. What is not handed over is not inherited.
func TestLockInherited(t *testing.T) {
	d := openTemp(t, "")
	m := must{t}
	for _, kind := range kinds {
		f := put(t, d, string(kind), "x")
		test, err := d.Open(string(kind), Read)
		m.ok(err)
		defer test.Close()
		locked := func(want bool) {
			t.Helper()
			if got, err := test.Locked(kind); err != nil || got != want {
				t.Fatalf("%s: Locked: %v, %v, want %v", kind, got, err, want)
			}
		}
		run := func(hand bool) *child {
			m.ok(f.Lock(kind))
			cmd := command(t, "hold")
			if hand {
				n, err := unix.FcntlInt(f.Handle(), unix.F_DUPFD_CLOEXEC, 0)
				m.ok(err)
				file := os.NewFile(uintptr(n), "handed")
				defer file.Close()
				cmd.ExtraFiles = []*os.File{file}
			}
			c := begin(t, cmd)
			locked(true)
			return c
		}
		c := run(true)
		m.ok(f.Unlock(kind))
		locked(false)
		c.kill()
		c = run(true)
		m.ok(f.Close())
		locked(true)
		c.kill()
		locked(false)
		f, err = d.Open(string(kind), ReadWrite)
		m.ok(err)
		c = run(false)
		m.ok(f.Close())
		locked(false)
		c.kill()
	}
}
