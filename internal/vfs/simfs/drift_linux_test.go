package simfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// pair is one open file in both worlds.
type pair struct {
	real, sim vfs.File
	access    vfs.Access
	pinned    bool
}

// TestAgreesWithTheKernel makes random operations in a real directory and in a simulated one: every
// answer, and everything that can be seen afterwards, is the same.
func TestAgreesWithTheKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not as root: rights are compared as the calling user has them")
	}
	rapid.Check(t, func(t *rapid.T) {
		path, err := os.MkdirTemp("/dev/shm", "simfs-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(path)
		real, err := vfs.OS().OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		defer real.Close()
		uid := os.Geteuid()
		sim, err := simfs.New(simfs.Options{}, uid, "/d").Process(1, uid, nil).OpenDir("/d")
		if err != nil {
			t.Fatal(err)
		}
		w := &worlds{t: t, real: real, sim: sim}
		defer w.end()
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			w.step()
			w.compare()
		}
	})
}

type worlds struct {
	t         *rapid.T
	real, sim vfs.Dir
	files     []pair
}

func (w *worlds) end() {
	for _, f := range w.files {
		f.real.Close()
	}
}

func (w *worlds) name(what string) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.t, what)
}

// both makes an operation in both worlds and requires the same answer.
func (w *worlds) both(what string, op func(d vfs.Dir) error) {
	r, s := class(op(w.real)), class(op(w.sim))
	if r != s {
		w.t.Fatalf("%s: the kernel says %q, the simulation %q", what, r, s)
	}
}

// opened is both for operations that open a file.
func (w *worlds) opened(what string, p pair, op func(d vfs.Dir) (vfs.File, error)) {
	w.both(what, func(d vfs.Dir) (err error) {
		if d == w.real {
			p.real, err = op(d)
		} else {
			p.sim, err = op(d)
		}
		return err
	})
	if p.real != nil && p.sim != nil {
		w.files = append(w.files, p)
	}
}

func (w *worlds) step() {
	a, b := w.name("name"), w.name("other name")
	mode := rapid.SampledFrom([]fs.FileMode{0o600, 0o644}).Draw(w.t, "mode")
	if len(w.files) > 0 && rapid.Bool().Draw(w.t, "on an open file") {
		w.onFile(b)
		return
	}
	switch rapid.IntRange(0, 9).Draw(w.t, "operation") {
	case 0, 1:
		w.opened("create "+a, pair{access: vfs.ReadWrite}, func(d vfs.Dir) (vfs.File, error) {
			return d.Create(a, mode)
		})
	case 2:
		access := rapid.SampledFrom([]vfs.Access{vfs.Read, vfs.ReadWrite, vfs.Append}).
			Draw(w.t, "access")
		w.opened("open "+a, pair{access: access}, func(d vfs.Dir) (vfs.File, error) {
			return d.Open(a, access)
		})
	case 3:
		w.opened("unnamed", pair{access: vfs.ReadWrite}, func(d vfs.Dir) (vfs.File, error) {
			return d.CreateUnnamed(mode)
		})
	case 4:
		w.both("link", func(d vfs.Dir) error { return d.Link(a, b) })
	case 5:
		w.both("rename without replacing", func(d vfs.Dir) error { return d.RenameNoReplace(a, b) })
	case 6:
		w.both("exchange", func(d vfs.Dir) error { return d.Exchange(a, b) })
	case 7:
		w.both("rename", func(d vfs.Dir) error { return d.Rename(a, b) })
	case 8:
		w.both("remove", func(d vfs.Dir) error { return d.Remove(a) })
	default:
		w.opened("pin", pair{pinned: true}, func(d vfs.Dir) (vfs.File, error) { return d.Pin(a) })
	}
}

func (w *worlds) onFile(name string) {
	i := rapid.IntRange(0, len(w.files)-1).Draw(w.t, "file")
	p := w.files[i]
	kind := rapid.SampledFrom([]vfs.LockKind{vfs.LockOFD, vfs.LockFlock}).Draw(w.t, "kind")
	off := rapid.Int64Range(0, 8).Draw(w.t, "offset")
	text := rapid.SampledFrom([]string{"", "x", "hello"}).Draw(w.t, "text")
	on := func(what string, op func(f vfs.File) error) {
		w.both(what, func(d vfs.Dir) error {
			if d == w.real {
				return op(p.real)
			}
			return op(p.sim)
		})
	}
	// What the contract leaves open is not asked: appending through another access, and anything
	// but looking through a pin.
	which := rapid.IntRange(0, 9).Draw(w.t, "operation on a file")
	if p.pinned || which == 1 && p.access != vfs.Append {
		which = 9
	}
	switch which {
	case 0:
		on("write", func(f vfs.File) error { return second(f.WriteAt([]byte(text), off)) })
	case 1:
		on("append", func(f vfs.File) error { return second(f.Append([]byte(text))) })
	case 2:
		on("truncate", func(f vfs.File) error { return f.Truncate(off) })
	case 3:
		on("flush", func(f vfs.File) error { return f.Sync() })
	case 4, 5:
		on("lock", func(f vfs.File) error { return f.Lock(kind) })
	case 6:
		on("unlock", func(f vfs.File) error { return f.Unlock(kind) })
	case 7:
		on("link unnamed", func(f vfs.File) error {
			if f == p.real {
				return w.real.LinkUnnamed(f, name)
			}
			return w.sim.LinkUnnamed(f, name)
		})
	default:
		on("close", func(f vfs.File) error { return f.Close() })
		w.files = slices.Delete(w.files, i, i+1)
	}
}

// compare looks at everything that can be seen.
func (w *worlds) compare() {
	names := func(d vfs.Dir) []string {
		names, err := d.Names()
		if err != nil {
			w.t.Fatal(err)
		}
		slices.Sort(names)
		return names
	}
	r, s := names(w.real), names(w.sim)
	if !slices.Equal(r, s) {
		w.t.Fatalf("the kernel lists %q, the simulation %q", r, s)
	}
	for _, name := range r {
		w.both("look at "+name, func(d vfs.Dir) error {
			in, err := d.Stat(name)
			if err != nil {
				return err
			}
			same := ""
			for _, other := range r {
				if o, err := d.Stat(other); err == nil && o.SameFile(in) {
					same += other
				}
			}
			f, err := d.Open(name, vfs.Read)
			if err != nil {
				return err
			}
			defer f.Close()
			b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
			return fmt.Errorf("%v %d %d same %s %q %v %s", in.Mode, in.Size, in.Links, same, b, err,
				locks(f, false))
		})
	}
	for i := range w.files {
		w.both(fmt.Sprintf("look at open file %d", i), func(d vfs.Dir) error {
			f := w.files[i].sim
			if d == w.real {
				f = w.files[i].real
			}
			in, err := f.Stat()
			return fmt.Errorf("%v %d %d %v %s", in.Mode, in.Size, in.Links, class(err),
				locks(f, w.files[i].pinned))
		})
	}
}

func locks(f vfs.File, pinned bool) string {
	if pinned {
		return ""
	}
	ofd, err := f.Locked(vfs.LockOFD)
	flock, err2 := f.Locked(vfs.LockFlock)
	alone, err3 := f.Alone()
	return fmt.Sprint("ofd ", ofd, class(err), " flock ", flock, class(err2), " alone ", alone,
		class(err3))
}

// class is what callers tell errors apart by.
func class(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	for _, known := range []error{vfs.ErrLocked, vfs.ErrNoLocks, vfs.ErrNotRegular, io.EOF,
		os.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

func second[T any](_ T, err error) error { return err }
