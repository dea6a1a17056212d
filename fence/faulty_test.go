package fence

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
)

// faulty is a directory in which single steps can be made to fail, or to find that something has
// happened before them. A step is named by its call and the kind of its file: "create temp",
// "lock name", "write unnamed".
type faulty struct {
	vfs.Dir
	before func(step string) error
	steps  []string // all that came by
	reads  []string // what the next reads see
}

func (d *faulty) step(call, name string) error {
	if name != "S.fence" && name != "unnamed" && name != "dir" {
		name = "temp"
	}
	step := call + " " + strings.Replace(name, "S.fence", "name", 1)
	d.steps = append(d.steps, step)
	if d.before == nil {
		return nil
	}
	if err := d.before(step); err != nil {
		return &fs.PathError{Op: call, Path: filepath.Join(d.Path(), name), Err: err}
	}
	return nil
}

func (d *faulty) file(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d, name}, nil
}

func (d *faulty) Open(name string, a vfs.Access) (vfs.File, error) {
	if err := d.step("open", name); err != nil {
		return nil, err
	}
	f, err := d.Dir.Open(name, a)
	return d.file(name, f, err)
}

func (d *faulty) Create(name string, mode fs.FileMode) (vfs.File, error) {
	if err := d.step("create", name); err != nil {
		return nil, err
	}
	f, err := d.Dir.Create(name, mode)
	return d.file(name, f, err)
}

func (d *faulty) CreateUnnamed(mode fs.FileMode) (vfs.File, error) {
	if err := d.step("create", "unnamed"); err != nil {
		return nil, err
	}
	f, err := d.Dir.CreateUnnamed(mode)
	return d.file("unnamed", f, err)
}

func (d *faulty) LinkUnnamed(f vfs.File, name string) error {
	if err := d.step("link", "unnamed"); err != nil {
		return err
	}
	return d.Dir.LinkUnnamed(f.(*faultyFile).File, name)
}

func (d *faulty) TakeOut(name, to string, is func(vfs.File) (bool, error)) (bool, error) {
	if err := d.step("take out", name); err != nil {
		return false, err
	}
	return d.Dir.TakeOut(name, to, func(f vfs.File) (bool, error) {
		return is(&faultyFile{f, d, name})
	})
}

func (d *faulty) Link(old, new string) error {
	if err := d.step("link", old); err != nil {
		return err
	}
	return d.Dir.Link(old, new)
}

func (d *faulty) RenameNoReplace(old, new string) error {
	if err := d.step("rename", old); err != nil {
		return err
	}
	return d.Dir.RenameNoReplace(old, new)
}

func (d *faulty) Rename(old, new string) error { panic("a counter is never replaced") }

func (d *faulty) Remove(name string) error {
	if err := d.step("remove", name); err != nil {
		return err
	}
	return d.Dir.Remove(name)
}

func (d *faulty) Stat(name string) (vfs.Info, error) {
	if err := d.step("stat", name); err != nil {
		return vfs.Info{}, err
	}
	return d.Dir.Stat(name)
}

func (d *faulty) Sync() error {
	if err := d.step("flush", "dir"); err != nil {
		return err
	}
	return d.Dir.Sync()
}

type faultyFile struct {
	vfs.File
	d    *faulty
	name string
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.d.step("read", f.name); err != nil {
		return 0, err
	}
	if len(f.d.reads) > 0 {
		n := copy(b, f.d.reads[0])
		f.d.reads = f.d.reads[1:]
		return n, io.EOF
	}
	return f.File.ReadAt(b, off)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.d.step("write", f.name); err != nil {
		n, _ := f.File.WriteAt(b[:7], off) // and tears what was there
		return n, err
	}
	return f.File.WriteAt(b, off)
}

func (f *faultyFile) Stat() (vfs.Info, error) {
	if err := f.d.step("fstat", f.name); err != nil {
		return vfs.Info{}, err
	}
	return f.File.Stat()
}

func (f *faultyFile) Sync() error {
	if err := f.d.step("flush", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Lock(kind vfs.LockKind) error {
	if err := f.d.step("lock", f.name); err != nil {
		return err
	}
	return f.File.Lock(kind)
}

func (f *faultyFile) Unlock(kind vfs.LockKind) error {
	if err := f.d.step("unlock", f.name); err != nil {
		return err
	}
	return f.File.Unlock(kind)
}

func newFaulty(t *testing.T, opts Options) (*Counter, *faulty, string) {
	t.Helper()
	c, path := newCounter(t, opts)
	d := &faulty{Dir: c.dir}
	c.dir = d
	return c, d, path
}
