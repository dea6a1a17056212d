// Package faultfs puts a decision before every file operation: go on, fail, do half of a write, or
// do something else first, such as being killed. It is test support; nothing else imports it.
package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/probate-dev/probate/internal/vfs"
)

// Op is a file operation that is about to happen.
type Op struct {
	N    int    // counted from 1, over the whole file system
	Verb string // create, create-unnamed, open, write, flush, lock, rename, …: see the methods
	Dir  string // path of the directory
	Name string // in that directory; "" for the directory itself
	To   string // the second name, of links and renames

	// Writes reports that half of it can happen.
	Writes bool
}

func (o Op) String() string {
	s := o.Verb
	if o.Name != "" {
		s += " " + o.Name
	}
	if o.To != "" {
		s += " " + o.To
	}
	return s
}

// Action is what becomes of an operation. The zero value lets it happen.
type Action struct {
	Half bool   // only the first half of a write happens
	Do   func() // called then; it need not return
	Err  error  // the operation fails with this errno, and does not happen but for its half
}

// Decide is asked before every operation, from any goroutine, one at a time.
type Decide func(op Op) Action

// Wrap returns a file system that asks decide before it does what under does.
func Wrap(under vfs.FS, decide Decide) vfs.FS { return &faultFS{under: under, decide: decide} }

type faultFS struct {
	under  vfs.FS
	decide Decide

	mu sync.Mutex
	n  int
}

// ask returns the decision about an operation, with its error in the form that the real file system
// gives it.
func (s *faultFS) ask(op Op) Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	op.N = s.n
	act := s.decide(op)
	if act.Err != nil {
		act.Err = pathError(op, act.Err)
	}
	return act
}

// pass asks about an operation that happens whole or not at all.
func (s *faultFS) pass(op Op) error {
	act := s.ask(op)
	if act.Do != nil {
		act.Do()
	}
	return act.Err
}

// meaning is an errno of a call, and what package vfs makes of it.
type meaning struct {
	error
	is []error
}

func (m meaning) Unwrap() []error { return append([]error{m.error}, m.is...) }

// pathError has the types and meanings that the documentation of vfs.Dir promises.
func pathError(op Op, err error) error {
	errno, _ := errors.AsType[syscall.Errno](err)
	switch {
	case op.isLock() && errno == syscall.EAGAIN:
		err = vfs.ErrLocked
	case op.isLock() && (errno == syscall.ENOLCK || errors.Is(errno, errors.ErrUnsupported)):
		err = meaning{err, []error{vfs.ErrNoLocks, errors.ErrUnsupported}}
	case op.Verb == "link" && errno == syscall.EPERM:
		err = unsupported{err}
	case errno == syscall.EINVAL && (op.Verb == "create-unnamed" || op.Verb == "exchange" ||
		op.Verb == "rename-noreplace"):
		err = unsupported{err}
	}
	at := filepath.Join(op.Dir, op.Name)
	if op.To != "" {
		return &os.LinkError{Op: op.Verb, Old: at, New: filepath.Join(op.Dir, op.To), Err: err}
	}
	return &fs.PathError{Op: op.Verb, Path: at, Err: err}
}

// unsupported is an errno that means only that: not fs.ErrPermission, whatever its number.
type unsupported struct{ err error }

func (e unsupported) Error() string { return "not here: " + e.err.Error() }

func (e unsupported) Is(target error) bool {
	return target == errors.ErrUnsupported || target == e.err
}

func (o Op) isLock() bool {
	return o.Verb == "lock" || o.Verb == "unlock" || o.Verb == "test-lock"
}

func (s *faultFS) Resolve(path string) (dir, base string, err error) {
	if err := s.pass(Op{Verb: "resolve", Dir: path}); err != nil {
		return "", "", err
	}
	return s.under.Resolve(path)
}

func (s *faultFS) OpenDir(path string) (vfs.Dir, error) {
	if err := s.pass(Op{Verb: "open-dir", Dir: path}); err != nil {
		return nil, err
	}
	d, err := s.under.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &faultDir{s, d}, nil
}

// Within is one operation, although it may be two calls: where it fails its caller opens the
// directory, whatever the reason.
func (s *faultFS) Within(path string, dir vfs.Dir, self vfs.Info) (
	base string, info vfs.Info, is, ok bool) {
	d, ours := dir.(*faultDir)
	if !ours || d.pass("look-within", filepath.Base(path)) != nil {
		return "", info, false, false
	}
	return vfs.Within(s.under, path, d.under, self)
}

type faultDir struct {
	s     *faultFS
	under vfs.Dir
}

func (d *faultDir) Path() string    { return d.under.Path() }
func (d *faultDir) Handle() uintptr { return d.under.Handle() }
func (d *faultDir) Close() error    { return d.under.Close() }

// pass asks about an operation on up to two names.
func (d *faultDir) pass(verb string, names ...string) error {
	op := Op{Verb: verb, Dir: d.Path()}
	for i, name := range names {
		*[]*string{&op.Name, &op.To}[i] = name
	}
	return d.s.pass(op)
}

// file asks, and then opens or makes a file.
func (d *faultDir) file(verb, name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := d.pass(verb, name); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return &faultFile{d, f, name}, nil
}

func (d *faultDir) Open(name string, access vfs.Access) (vfs.File, error) {
	return d.file("open", name, func() (vfs.File, error) { return d.under.Open(name, access) })
}

func (d *faultDir) Pin(name string) (vfs.File, error) {
	return d.file("pin", name, func() (vfs.File, error) { return d.under.Pin(name) })
}

func (d *faultDir) Create(name string, mode fs.FileMode) (vfs.File, error) {
	return d.file("create", name, func() (vfs.File, error) { return d.under.Create(name, mode) })
}

func (d *faultDir) CreateUnnamed(mode fs.FileMode) (vfs.File, error) {
	return d.file("create-unnamed", "", func() (vfs.File, error) {
		return d.under.CreateUnnamed(mode)
	})
}

func (d *faultDir) LinkUnnamed(file vfs.File, name string) error {
	if err := d.pass("link-unnamed", name); err != nil {
		return err
	}
	f, ok := file.(*faultFile)
	if !ok {
		return fmt.Errorf("faultfs: a file of another file system: %T", file)
	}
	if err := d.under.LinkUnnamed(f.under, name); err != nil {
		return err
	}
	f.name = name
	return nil
}

func (d *faultDir) Link(old, new string) error {
	if err := d.pass("link", old, new); err != nil {
		return err
	}
	return d.under.Link(old, new)
}

func (d *faultDir) RenameNoReplace(old, new string) error {
	if err := d.pass("rename-noreplace", old, new); err != nil {
		return err
	}
	return d.under.RenameNoReplace(old, new)
}

func (d *faultDir) Exchange(a, b string) error {
	if err := d.pass("exchange", a, b); err != nil {
		return err
	}
	return d.under.Exchange(a, b)
}

func (d *faultDir) Rename(old, new string) error {
	if err := d.pass("rename", old, new); err != nil {
		return err
	}
	return d.under.Rename(old, new)
}

func (d *faultDir) Remove(name string) error {
	if err := d.pass("remove", name); err != nil {
		return err
	}
	return d.under.Remove(name)
}

func (d *faultDir) TakeOut(name, to string, is func(vfs.File) (bool, error)) (bool, error) {
	if vfs.OwnerKeeps() { // elsewhere it is no call at all
		if err := d.pass("take-out", name, to); err != nil {
			return false, err
		}
	}
	return d.under.TakeOut(name, to, func(f vfs.File) (bool, error) {
		return is(&faultFile{d, f, name})
	})
}

func (d *faultDir) Self() (vfs.Info, error) {
	if err := d.pass("look-at-dir"); err != nil {
		return vfs.Info{}, err
	}
	return d.under.Self()
}

func (d *faultDir) Stat(name string) (vfs.Info, error) {
	if err := d.pass("look-at", name); err != nil {
		return vfs.Info{}, err
	}
	return d.under.Stat(name)
}

func (d *faultDir) Names() ([]string, error) {
	if err := d.pass("list"); err != nil {
		return nil, err
	}
	return d.under.Names()
}

func (d *faultDir) Sync() error {
	if err := d.pass("flush-dir"); err != nil {
		return err
	}
	return d.under.Sync()
}

type faultFile struct {
	d     *faultDir
	under vfs.File
	name  string
}

func (f *faultFile) Handle() uintptr { return f.under.Handle() }
func (f *faultFile) Close() error    { return f.under.Close() }

func (f *faultFile) pass(verb string) error { return f.d.pass(verb, f.name) }

// write asks about a write of n bytes, which do does from some of them on.
func (f *faultFile) write(verb string, p []byte, do func(p []byte) (int, error)) (int, error) {
	act := f.d.s.ask(Op{Verb: verb, Dir: f.d.Path(), Name: f.name, Writes: len(p) > 1})
	done := 0
	if act.Half {
		var err error
		if done, err = do(p[:len(p)/2]); err != nil {
			return done, err
		}
	}
	if act.Do != nil {
		act.Do()
	}
	switch {
	case act.Err != nil:
		return done, act.Err
	case act.Half:
		return done, pathError(Op{Verb: verb, Dir: f.d.Path(), Name: f.name}, io.ErrShortWrite)
	}
	return do(p)
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write("write", p, func(p []byte) (int, error) { return f.under.WriteAt(p, off) })
}

func (f *faultFile) Append(p []byte) (int, error) { return f.write("append", p, f.under.Append) }

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.pass("read"); err != nil {
		return 0, err
	}
	return f.under.ReadAt(p, off)
}

func (f *faultFile) Stat() (vfs.Info, error) {
	if err := f.pass("look-at-open"); err != nil {
		return vfs.Info{}, err
	}
	return f.under.Stat()
}

func (f *faultFile) Chmod(mode fs.FileMode) error {
	if err := f.pass("chmod"); err != nil {
		return err
	}
	return f.under.Chmod(mode)
}

func (f *faultFile) Chown(uid, gid int) error {
	if err := f.pass("chown"); err != nil {
		return err
	}
	return f.under.Chown(uid, gid)
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.pass("truncate"); err != nil {
		return err
	}
	return f.under.Truncate(size)
}

func (f *faultFile) Sync() error {
	if err := f.pass("flush"); err != nil {
		return err
	}
	return f.under.Sync()
}

func (f *faultFile) Lock(kind vfs.LockKind) error {
	if err := f.pass("lock"); err != nil {
		return err
	}
	return f.under.Lock(kind)
}

func (f *faultFile) Unlock(kind vfs.LockKind) error {
	if err := f.pass("unlock"); err != nil {
		return err
	}
	return f.under.Unlock(kind)
}

func (f *faultFile) Locked(kind vfs.LockKind) (bool, error) {
	if err := f.pass("test-lock"); err != nil {
		return false, err
	}
	return f.under.Locked(kind)
}

func (f *faultFile) Alone() (bool, error) {
	if err := f.pass("test-alone"); err != nil {
		return false, err
	}
	return f.under.Alone()
}
