package simfs_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// taker keeps the operations of a process.
type taker struct{ ops []simfs.Op }

func (k *taker) Before(op *simfs.Op) error {
	o := *op
	o.Data = bytes.Clone(op.Data)
	k.ops = append(k.ops, o)
	return nil
}

func (k *taker) After(op *simfs.Op) {
	o := &k.ops[len(k.ops)-1]
	o.Err, o.Seen, o.Changed, o.Inode, o.Said = op.Err, op.Seen, op.Changed, op.Inode, op.Said
}

// TestAgain makes random operations of two processes, copies their disk at some moment, and makes
// the operations that follow once more in the copy: each has the same outcome there, and leaves the
// same disk; and what is done in the copy leaves the original as it is.
func TestAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newCouple(t)
		var again [2]taker
		was := w.disk.Hash()
		twin := w.disk.Copy(func(id uint64) simfs.Hooks { return &again[id-1] })
		if twin.Hash() != was {
			t.Fatal("the copy is another disk")
		}
		for range rapid.IntRange(1, 30).Draw(t, "after") {
			i := rapid.IntRange(0, 1).Draw(t, "process")
			for _, op := range w.act(t, i) {
				p := twin.Find(uint64(i + 1))
				if op.Depends && p.Unnoticed(&op) != op.Private {
					t.Fatalf("%+v: in the copy others notice it, or not", op)
				}
				now := w.disk.Hash()
				p.Again(&op, op.Private)
				if w.disk.Hash() != now {
					t.Fatalf("%+v in the copy changes the original", op)
				}
				got := again[i].ops[len(again[i].ops)-1]
				if got.Seen != op.Seen || got.Changed != op.Changed || got.Inode != op.Inode ||
					got.Said != op.Said || (got.Err == nil) != (op.Err == nil) ||
					op.Err != nil && got.Err.Error() != op.Err.Error() {
					t.Fatalf("%+v has another outcome in the copy: %+v", op, got)
				}
			}
			if twin.Hash() != w.disk.Hash() {
				t.Fatalf("the disks differ after %+v", w.takers[i].ops)
			}
		}
	})
}

// couple is two processes on a disk, after some random operations.
type couple struct {
	disk   *simfs.Disk
	takers [2]taker
	files  [2][]vfs.File
	dirs   [2]vfs.Dir
}

func newCouple(t *rapid.T) *couple {
	opts := simfs.Options{OpensSeen: rapid.Bool().Draw(t, "seen"), Touches: true}
	w := &couple{disk: simfs.New(opts, 0, "/d")}
	w.disk.Put("/d/c", []byte("there"), 0o600, 0)
	for i := range w.dirs {
		w.dirs[i], _ = w.disk.Process(uint64(i+1), 0, &w.takers[i]).OpenDir("/d")
	}
	for range rapid.IntRange(0, 30).Draw(t, "before") {
		w.act(t, rapid.IntRange(0, 1).Draw(t, "process"))
	}
	return w
}

// act lets a process do something, and returns the operations that it consists of.
func (w *couple) act(t *rapid.T, i int) []simfs.Op {
	from := len(w.takers[i].ops)
	w.files[i] = act(t, w.dirs[i], w.files[i])
	return w.takers[i].ops[from:]
}

// act makes one random operation, and returns the files that are open then.
func act(t *rapid.T, d vfs.Dir, files []vfs.File) []vfs.File {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	keep := func(f vfs.File, err error) {
		if err == nil {
			files = append(files, f)
		}
	}
	what := rapid.IntRange(0, 21).Draw(t, "operation")
	if what > 10 && len(files) == 0 {
		what -= 11
	}
	var f vfs.File
	at := 0
	if what > 10 {
		at = rapid.IntRange(0, len(files)-1).Draw(t, "file")
		f = files[at]
	}
	switch what {
	case 0:
		keep(d.Open(name.Draw(t, "name"), vfs.Access(rapid.IntRange(0, 2).Draw(t, "access"))))
	case 1:
		keep(d.Create(name.Draw(t, "name"), 0o640))
	case 2:
		keep(d.CreateUnnamed(0o600))
	case 3:
		keep(d.Pin(name.Draw(t, "name")))
	case 4:
		_ = d.Link(name.Draw(t, "old"), name.Draw(t, "new"))
	case 5:
		_ = d.RenameNoReplace(name.Draw(t, "old"), name.Draw(t, "new"))
	case 6:
		_ = d.Rename(name.Draw(t, "old"), name.Draw(t, "new"))
	case 7:
		_ = d.Exchange(name.Draw(t, "a"), name.Draw(t, "b"))
	case 8:
		_ = d.Remove(name.Draw(t, "name"))
	case 9:
		_, _ = d.Stat(name.Draw(t, "name"))
	case 10:
		_, _ = d.Names()
		_, _ = d.Self()
		_ = d.Sync()
	case 11:
		_, _ = f.ReadAt(make([]byte, rapid.IntRange(0, 8).Draw(t, "size")),
			int64(rapid.IntRange(0, 4).Draw(t, "offset")))
	case 12:
		_, _ = f.WriteAt([]byte("written"), int64(rapid.IntRange(0, 9).Draw(t, "offset")))
	case 13:
		_, _ = f.Append([]byte("appended"))
	case 14:
		_, _ = f.Stat()
	case 15:
		_ = f.Truncate(int64(rapid.IntRange(0, 9).Draw(t, "size")))
	case 16:
		_ = f.Chmod(0o644)
		_ = f.Chown(0, rapid.IntRange(0, 2).Draw(t, "group"))
	case 17:
		_ = f.Lock(vfs.LockOFD)
	case 18:
		_ = f.Unlock(vfs.LockOFD)
	case 19:
		_, _ = f.Locked(vfs.LockOFD)
		_, _ = f.Alone()
	case 20:
		_ = f.Sync()
		_ = d.LinkUnnamed(f, name.Draw(t, "name"))
	default:
		_ = f.Close()
		files = append(files[:at], files[at+1:]...)
	}
	return files
}
