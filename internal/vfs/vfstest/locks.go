package vfstest

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
)

// must makes tests short: must{t}.ok(err) fails the test on an error.
type must struct{ testing.TB }

func (m must) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m must) is(err, want error) {
	m.Helper()
	if !errors.Is(err, want) {
		m.Fatalf("got %v, want %v", err, want)
	}
}

// put makes a file with content and returns it open.
func put(t testing.TB, d vfs.Dir, name, content string) vfs.File {
	t.Helper()
	f, err := write(d, name, content)
	must{t}.ok(err)
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t testing.TB, d vfs.Dir, name string) string {
	t.Helper()
	f, err := d.Open(name, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return "(missing)"
	}
	must{t}.ok(err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	must{t}.ok(err)
	return string(b)
}

func testLock(t *testing.T, open Open) {
	d := open(t)
	m := must{t}
	for _, kind := range []vfs.LockKind{vfs.LockOFD, vfs.LockFlock, vfs.LockRange} {
		own := put(t, d, "own-"+string(kind), "x")
		if err := own.Lock(kind); errors.Is(err, errors.ErrUnsupported) {
			if kind == vfs.GateLock() {
				t.Errorf("no %s locks: %v", kind, err)
			}
			continue
		}
		m.ok(own.Unlock(kind))
		other, err := d.Open("own-"+string(kind), vfs.ReadWrite)
		m.ok(err)
		defer other.Close()
		reader, err := d.Open("own-"+string(kind), vfs.Read)
		m.ok(err)
		defer reader.Close()
		locked := func(f vfs.File, want bool) {
			t.Helper()
			for range 2 { // testing changes nothing
				if got, err := f.Locked(kind); err != nil || got != want {
					t.Fatalf("%s: Locked: %v, %v, want %v", kind, got, err, want)
				}
			}
		}
		locked(reader, false)
		m.ok(own.Lock(kind))
		m.ok(own.Lock(kind)) // again is nothing new
		locked(own, false)   // no other has it
		locked(other, true)
		locked(reader, true)
		m.is(other.Lock(kind), vfs.ErrLocked)
		locked(own, false)
		locked(reader, true) // and own has kept it
		m.ok(own.Unlock(kind))
		m.ok(own.Unlock(kind))
		locked(reader, false)
		m.ok(other.Lock(kind))
		m.is(own.Lock(kind), vfs.ErrLocked)
		m.ok(other.Close()) // the last descriptor takes the lock with it
		locked(reader, false)
		m.ok(own.Lock(kind))
		m.ok(reader.Close()) // as no other does
		f, err := d.Open("own-"+string(kind), vfs.Read)
		m.ok(err)
		locked(f, true)
		m.ok(f.Close())
	}
	f := put(t, d, "x", "x")
	for _, err := range []error{f.Lock(""), f.Unlock(""), second(f.Locked(""))} {
		m.is(err, errors.ErrUnsupported)
	}
}

// A lock for writing through a descriptor for reading is the caller's mistake, not a filesystem
// without locks.
func testLockNeedsWriting(t *testing.T, open Open) {
	d := open(t)
	f := put(t, d, "a", "x")
	if err := f.Lock(vfs.LockOFD); errors.Is(err, errors.ErrUnsupported) {
		return
	}
	r, err := d.Open("a", vfs.Read)
	must{t}.ok(err)
	defer r.Close()
	if err := r.Lock(vfs.LockOFD); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("got %v", err)
	}
}

// A file that has lost its name lives on for who has it open, with its lock, and its number is not
// given out again.
func testRemovedAndOpen(t *testing.T, open Open) {
	d := open(t)
	m := must{t}
	f := put(t, d, "a", "first")
	m.ok(f.Lock(vfs.NativeLock()))
	was, err := f.Stat()
	m.ok(err)
	m.ok(d.Remove("a"))
	g := put(t, d, "a", "second")
	now, err := g.Stat()
	m.ok(err)
	if now.SameFile(was) {
		t.Fatalf("two files with number %d", now.Inode)
	}
	if in, err := f.Stat(); err != nil || in.Links != 0 || in.Size != 5 || !in.SameFile(was) {
		t.Fatalf("the removed one: %+v, %v", in, err)
	}
	m.ok(g.Lock(vfs.NativeLock())) // another file, another lock
	_, err = f.WriteAt([]byte("F"), 0)
	m.ok(err)
	b := make([]byte, 5)
	_, err = f.ReadAt(b, 0)
	m.ok(err)
	if string(b) != "First" || content(t, d, "a") != "second" {
		t.Fatalf("%q and %q", b, content(t, d, "a"))
	}
}

func testLinks(t *testing.T, open Open) {
	d := open(t)
	m := must{t}
	put(t, d, "a", "A").Close()
	if err := d.Link("a", "b"); errors.Is(err, errors.ErrUnsupported) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	a, err := d.Stat("a")
	m.ok(err)
	b, err := d.Stat("b")
	m.ok(err)
	if a != b || a.Links != 2 {
		t.Fatalf("%+v and %+v", a, b)
	}
	m.ok(d.Rename("a", "b")) // two names of one file: nothing is done
	if content(t, d, "a") != "A" || content(t, d, "b") != "A" {
		t.Fatal("a rename onto itself took a name away")
	}
	m.ok(d.Remove("a"))
	if b, err = d.Stat("b"); err != nil || b.Links != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	f, err := d.CreateUnnamed(0o600)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	m.ok(err)
	defer f.Close()
	if in, err := f.Stat(); err != nil || in.Links != 0 {
		t.Fatalf("without a name: %+v, %v", in, err)
	}
	m.ok(d.LinkUnnamed(f, "c"))
	m.ok(d.Remove("c"))
	m.is(d.LinkUnnamed(f, "c"), fs.ErrNotExist) // its last name was removed
}

func testAlone(t *testing.T, open Open) {
	d := open(t)
	m := must{t}
	f := put(t, d, "a", "A")
	alone := func(want bool) {
		t.Helper()
		if is, err := f.Alone(); err != nil || is != want {
			t.Fatalf("Alone: %v, %v, want %v", is, err, want)
		}
	}
	if _, err := f.Alone(); errors.Is(err, errors.ErrUnsupported) {
		return
	}
	alone(true)
	p, err := d.Pin("a")
	m.ok(err)
	alone(true) // it can neither read nor write
	m.ok(p.Close())
	r, err := d.Open("a", vfs.Read)
	m.ok(err)
	alone(false)
	m.ok(d.Remove("a"))
	alone(false)
	m.ok(r.Close())
	alone(true)
}
