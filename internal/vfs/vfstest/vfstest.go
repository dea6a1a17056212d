// Package vfstest is what every vfs.FS must do: the real one and those of tests.
package vfstest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
)

// Open returns a new empty directory, which it closes and removes when the test is over.
type Open func(t *testing.T) vfs.Dir

// Conform runs all tests. Those of operations that the directory does not have (an error that
// matches errors.ErrUnsupported) pass over them.
func Conform(t *testing.T, open Open) {
	for name, test := range map[string]func(t *testing.T, open Open){
		"file": testFile, "names-are-elements": testNamesAreElements,
		"publish-race": testPublishRace, "exchange": testExchange, "no-replace": testNoReplace,
		"lock": testLock, "lock-needs-writing": testLockNeedsWriting,
		"removed-and-open": testRemovedAndOpen, "links": testLinks, "alone": testAlone,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func testFile(t *testing.T, open Open) {
	{
		d := open(t)
		m := must{t}
		f, err := d.Create("a", 0o600)
		m.ok(err)
		defer f.Close()
		n, err := f.WriteAt([]byte("hello"), 3)
		if n != 5 || err != nil {
			t.Fatalf("WriteAt: %d, %v", n, err)
		}
		b := make([]byte, 8)
		if n, err := f.ReadAt(b, 0); n != 8 || err != nil || string(b) != "\x00\x00\x00hello" {
			t.Fatalf("ReadAt: %d, %v, %q", n, err, b)
		}
		if n, err := f.ReadAt(b, 6); n != 2 || err != io.EOF {
			t.Fatalf("ReadAt over the end: %d, %v", n, err)
		}
		if _, err := f.ReadAt(b, -1); err == nil {
			t.Fatal("ReadAt at -1 works")
		}
		m.ok(f.Sync())
		m.ok(f.Truncate(4))
		in, err := f.Stat()
		m.ok(err)
		at, err := d.Stat("a")
		m.ok(err)
		if in != at || in.Size != 4 || !in.Mode.IsRegular() || in.Links != 1 || !in.SameFile(at) {
			t.Fatalf("Stat: %+v and %+v", in, at)
		}
		if _, err := d.Create("a", 0o600); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("Create twice: %v", err)
		}
		_, err = d.Open("b", vfs.Read)
		m.is(err, fs.ErrNotExist)
		if pe, ok := errors.AsType[*fs.PathError](err); !ok ||
			pe.Path != filepath.Join(d.Path(), "b") {
			t.Fatalf("the error does not have the whole path: %v", err)
		}
		r, err := d.Open("a", vfs.Read)
		m.ok(err)
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("wrote through a descriptor for reading")
		}
		ends := []vfs.File{}
		for range 2 { // two that append do not overwrite each other
			e, err := d.Open("a", vfs.Append)
			m.ok(err)
			ends = append(ends, e)
		}
		for i, text := range []string{"one ", "two ", "three"} {
			if n, err := ends[i%2].Append([]byte(text)); n != len(text) || err != nil {
				t.Fatalf("Append: %d, %v", n, err)
			}
		}
		if got := content(t, d, "a"); got != "\x00\x00\x00hone two three" {
			t.Fatalf("after Append: %q", got)
		}
		for _, e := range ends {
			m.ok(e.Close())
		}
		if self, err := d.Self(); err != nil || !self.Mode.IsDir() || self.SameFile(in) {
			t.Fatalf("Self: %+v, %v", self, err)
		}
		p, err := d.Pin("a")
		m.ok(err)
		if pinned, err := p.Stat(); err != nil || !pinned.SameFile(in) {
			t.Fatalf("Pin: %+v, %v", pinned, err)
		}
		m.ok(p.Close())
		m.ok(r.Close())
		m.is(r.Close(), os.ErrClosed)
		_, err = r.ReadAt(b, 0)
		m.is(err, os.ErrClosed)
		if h := r.Handle(); h != ^uintptr(0) {
			t.Fatalf("a closed file has handle %d", h)
		}
		m.ok(d.Sync())
		m.ok(d.Rename("a", "c"))
		names, err := d.Names()
		m.ok(err)
		if !slices.Equal(names, []string{"c"}) {
			t.Fatalf("Names: %q", names)
		}
		for base, want := range map[string][]string{"": {"c"}, "c": {"c"}, "cc": nil, "b": nil} {
			some, err := vfs.NamesWith(d, base, []string{"x", ""})
			m.ok(err)
			if none, err := vfs.NamesWith(d, base, []string{"x"}); err != nil || len(none) > 0 {
				t.Fatalf("NamesWith %q and x: %q, %v", base, none, err)
			}
			if !slices.Equal(some, want) {
				t.Fatalf("NamesWith %q: %q, want %q", base, some, want)
			}
		}
		m.ok(f.Close())
		m.ok(d.Remove("c"))
		m.is(d.Remove("c"), fs.ErrNotExist)
		m.ok(d.Close())
		_, err = d.Stat("c")
		m.is(err, os.ErrClosed)
		_, err = d.Names()
		m.is(err, os.ErrClosed)
		_, err = vfs.NamesWith(d, "c", []string{""})
		m.is(err, os.ErrClosed)
	}
}

// No name leads out of its directory.
func testNamesAreElements(t *testing.T, open Open) {
	d := open(t)
	put(t, d, "a", "x")
	for _, name := range []string{"", ".", "..", "../a", "a/b", "/etc/passwd", "a\x00b"} {
		for op, err := range map[string]error{
			"open":   second(d.Open(name, vfs.Read)),
			"pin":    second(d.Pin(name)),
			"create": second(d.Create(name, 0o600)),
			"link":   d.Link("a", name), "link from": d.Link(name, "b"),
			"norepl": d.RenameNoReplace("a", name),
			"rename": d.Rename("a", name),
			"remove": d.Remove(name),
			"stat":   second(d.Stat(name)),
		} {
			if err == nil {
				t.Errorf("%s %q worked", op, name)
			}
		}
	}
	if got := content(t, d, "a"); got != "x" {
		t.Errorf("a is now %q", got)
	}
}

func second[T any](_ T, err error) error { return err }

// Publishers are the ways to give a complete file a name that must not exist.
var Publishers = map[string]func(d vfs.Dir, temp, name, content string) error{
	"rename": func(d vfs.Dir, temp, name, content string) error {
		f, err := write(d, temp, content)
		if err != nil {
			return err
		}
		defer f.Close()
		err = d.RenameNoReplace(temp, name)
		if err != nil {
			return errors.Join(err, d.Remove(temp))
		}
		return nil
	},
	"link": func(d vfs.Dir, temp, name, content string) error {
		f, err := write(d, temp, content)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(d.Link(temp, name), d.Remove(temp))
	},
	"unnamed": func(d vfs.Dir, _, name, content string) error {
		f, err := d.CreateUnnamed(0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(content), 0); err != nil {
			return err
		}
		return d.LinkUnnamed(f, name)
	},
}

func write(d vfs.Dir, name, content string) (vfs.File, error) {
	f, err := d.Create(name, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Of many that publish one name, one wins; what it published is complete, and all others see
// fs.ErrExist.
func testPublishRace(t *testing.T, open Open) {
	{
		d := open(t)
		for way, publish := range Publishers {
			t.Run(way, func(t *testing.T) {
				const racers, rounds = 6, 100
				for round := range rounds {
					name := fmt.Sprintf("%s-%d", way, round)
					var won atomic.Int32
					var winner atomic.Value
					var wg sync.WaitGroup
					var unsupported atomic.Bool
					for i := range racers {
						wg.Go(func() {
							text := fmt.Sprintf("by %d", i)
							err := publish(d, fmt.Sprintf("%s.%d", name, i), name, text)
							switch {
							case err == nil:
								won.Add(1)
								winner.Store(text)
							case errors.Is(err, errors.ErrUnsupported):
								unsupported.Store(true)
							case !errors.Is(err, fs.ErrExist):
								t.Errorf("%v", err)
							}
						})
					}
					wg.Wait()
					if unsupported.Load() {
						return
					}
					if won.Load() != 1 || content(t, d, name) != winner.Load() {
						t.Fatalf(
							"%d won; the file says %q, the winner %q",
							won.Load(),
							content(t, d, name),
							winner.Load(),
						)
					}
					if t.Failed() {
						return
					}
				}
				names, err := d.Names()
				must{t}.ok(err)
				for _, n := range names {
					if filepath.Ext(n) != "" {
						t.Errorf("left behind: %s", n)
					}
				}
			})
		}
	}
}

func testExchange(t *testing.T, open Open) {
	{
		d := open(t)
		put(t, d, "a", "A")
		put(t, d, "b", "B")
		err := d.Exchange("a", "b")
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		must{t}.ok(err)
		if a, b := content(t, d, "a"), content(t, d, "b"); a != "B" || b != "A" {
			t.Fatalf("after the exchange a is %q and b is %q", a, b)
		}
		must{t}.is(d.Exchange("a", "c"), fs.ErrNotExist)
		must{t}.is(d.Exchange("c", "a"), fs.ErrNotExist)
		if a := content(t, d, "a"); a != "B" {
			t.Fatalf("a is %q", a)
		}
	}
}

func testNoReplace(t *testing.T, open Open) {
	{
		d := open(t)
		put(t, d, "a", "A").Close()
		put(t, d, "b", "B").Close()
		must{t}.is(d.Link("a", "b"), fs.ErrExist)
		must{t}.is(d.Link("x", "y"), fs.ErrNotExist)
		if err := d.RenameNoReplace("a", "b"); !errors.Is(err, errors.ErrUnsupported) {
			must{t}.is(err, fs.ErrExist)
			must{t}.is(d.RenameNoReplace("x", "y"), fs.ErrNotExist)
		}
		if f, err := d.CreateUnnamed(0o600); !errors.Is(err, errors.ErrUnsupported) {
			must{t}.ok(err)
			must{t}.is(d.LinkUnnamed(f, "b"), fs.ErrExist)
			must{t}.ok(f.Close())
			must{t}.is(d.LinkUnnamed(f, "c"), os.ErrClosed)
		}
		if b := content(t, d, "b"); b != "B" {
			t.Fatalf("b is %q", b)
		}
		must{t}.ok(d.Rename("a", "b"))
		if b := content(t, d, "b"); b != "A" {
			t.Fatalf("b is %q", b)
		}
	}
}
