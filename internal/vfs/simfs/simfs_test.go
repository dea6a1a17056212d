package simfs_test

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// hooks count operations, and let one of them fail.
type hooks struct {
	kinds []simfs.Kind
	fail  simfs.Kind
	errno error
	short int
}

func (h *hooks) Before(op *simfs.Op) error {
	h.kinds = append(h.kinds, op.Kind)
	if op.Kind == h.fail {
		op.Short = h.short
		return h.errno
	}
	return nil
}

func (h *hooks) After(*simfs.Op) {}

func openIn(t *testing.T, p *simfs.Process) vfs.Dir {
	t.Helper()
	d, err := p.OpenDir("/d")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func makeFile(t *testing.T, d vfs.Dir, name, text string) vfs.File {
	t.Helper()
	f, err := d.Create(name, 0o600)
	if err == nil {
		_, err = f.WriteAt([]byte(text), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFaults(t *testing.T) {
	h := &hooks{}
	disk := simfs.New(simfs.Options{}, 0, "/d")
	d := openIn(t, disk.Process(1, 0, h))
	f := makeFile(t, d, "a", "whole")
	h.fail, h.errno, h.short = simfs.OpWrite, syscall.ENOSPC, 2
	if _, err := f.WriteAt([]byte("XXXXX"), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write on a full disk: %v", err)
	}
	if text, _ := disk.Read("/d/a"); string(text) != "XXole" {
		t.Errorf("after a short write there is %q", text)
	}
	h.fail, h.errno = simfs.OpRemove, syscall.EIO
	if err := d.Remove("a"); !errors.Is(err, syscall.EIO) || disk.Inode("/d/a") == 0 {
		t.Errorf("a removal that fails: %v", err)
	}
	want := []simfs.Kind{simfs.OpOpenDir, simfs.OpCreate, simfs.OpWrite, simfs.OpWrite,
		simfs.OpRemove}
	if !slices.Equal(h.kinds, want) {
		t.Errorf("the hooks saw %q", h.kinds)
	}
}

// What a process has open ends with it; what a child has inherited does not.
func TestExit(t *testing.T) {
	disk := simfs.New(simfs.Options{}, 0, "/d")
	p, child, other := disk.Process(1, 0, nil), disk.Process(2, 0, nil), disk.Process(3, 0, nil)
	f := makeFile(t, openIn(t, p), "a", "x")
	if err := f.Lock(vfs.LockOFD); err != nil {
		t.Fatal(err)
	}
	if err := p.InheritHandle(child, f.Handle()); err != nil {
		t.Fatal(err)
	}
	look, err := openIn(t, other).Open("a", vfs.Read)
	if err != nil {
		t.Fatal(err)
	}
	locked := func(want bool) {
		t.Helper()
		if is, err := look.Locked(vfs.LockOFD); is != want || err != nil {
			t.Errorf("locked: %v, %v; want %v", is, err, want)
		}
	}
	locked(true)
	if who := other.Holders(look.Handle()); len(who) != 2 || !who[1] || !who[2] {
		t.Errorf("it is open in %v", who)
	}
	p.Exit()
	locked(true)
	if _, err := f.Stat(); err == nil {
		t.Error("a descriptor outlives its process")
	}
	child.Exit()
	locked(false)
}

// A power cut keeps what was flushed, and of the rest what it likes.
func TestCut(t *testing.T) {
	disk := simfs.New(simfs.Options{}, 0, "/d")
	d := openIn(t, disk.Process(1, 0, nil))
	f := makeFile(t, d, "a", "old")
	if err := errors.Join(f.Sync(), d.Sync()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("newer"), 0); err != nil {
		t.Fatal(err)
	}
	makeFile(t, d, "b", "B")
	if err := errors.Join(d.Rename("b", "c"), d.Link("a", "e")); err != nil {
		t.Fatal(err)
	}
	contents, names := map[string]bool{}, map[string]bool{}
	for k := range 4096 {
		rest := k
		after := disk.Cut(simfs.CutModel{Tears: 2}, func(n int) int {
			pick := rest % n
			rest /= n
			return pick
		})
		text, there := after.Read("/d/a")
		if !there {
			t.Fatal("a name that was flushed is gone")
		}
		contents[string(text)] = true
		all := ""
		for _, name := range after.Names("/d") {
			all += name
		}
		names[all] = true
		if in, err := openIn(t, after.Process(9, 0, nil)).Open("a", vfs.Read); err != nil {
			t.Fatal(err)
		} else if b, _ := io.ReadAll(io.NewSectionReader(in, 0, 99)); string(b) != string(text) {
			t.Fatalf("%q and %q", b, text)
		}
	}
	for _, text := range []string{"old", "newer", "nld", "new", "old\x00\x00"} {
		if !contents[text] {
			t.Errorf("%q is never left: %v", text, contents)
		}
	}
	for _, want := range []string{"a", "ab", "ac", "ace"} { // in the order of one journal
		if !names[want] {
			t.Errorf("the names %q are never left: %v", want, names)
		}
	}
	if len(names) != 4 {
		t.Errorf("names in an order that no journal allows: %v", names)
	}
}
