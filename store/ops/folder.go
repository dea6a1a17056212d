package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/tenure"
	"github.com/probate-dev/probate/store/internal/turn"
)

// Options say how a Folder works. The zero value is right for most uses.
type Options struct {
	// Lock is how the folder is locked for each change. Its Label is "operations" when empty.
	Lock lockfile.Options
	// Judge says whether the process that left a stamp is still there; nil: identity.Judge, which
	// does not know after a restart of the machine. A program that knows more, for example that it
	// holds the lock without which no other instance of it runs, may say so here. Gone must be
	// proven: what it says is acted upon.
	Judge func(Stamp) identity.Finding
}

// Folder keeps operations in a folder on disk. It keeps nothing open between calls and needs no
// Close; any number of them, in any number of processes, may stand for one folder. Its methods are
// safe for concurrent use.
type Folder struct {
	dir    string
	phases Phases
	opts   Options

	self     atomic.Pointer[identity.Identity]
	prepared atomic.Bool   // the folders are there
	line     func() string // where goroutines stand in line

	hook func(step string) error // for tests: before every step that changes something
}

// Open returns the operations in the folder dir, which must exist when they are used. Nothing is
// created or read now. An error (ErrInvalid) says that the phases are not a state machine.
func Open(dir string, phases Phases, opts Options) (*Folder, error) {
	fail := func(step string, err error) (*Folder, error) {
		return nil, &Error{Op: "open", Path: dir, Step: step, Next: advice(err), Err: err}
	}
	if err := phases.validate(); err != nil {
		return fail("check the phases", fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fail("make the path absolute", err)
	}
	if opts.Lock.Label == "" {
		opts.Lock.Label = "operations"
	}
	f := &Folder{dir: abs, phases: phases.clone(), opts: opts}
	f.line = sync.OnceValue(func() string { return turn.Key(f.LockState()) })
	return f, nil
}

// identity returns this process's, read once.
func (f *Folder) identity() (identity.Identity, error) {
	if me := f.self.Load(); me != nil {
		return *me, nil
	}
	me, err := identity.Current()
	if sys := f.opts.Lock.System; sys != nil {
		me, err = identity.CurrentOn(sys)
	}
	if err == nil {
		f.self.Store(&me)
	}
	return me, err
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// LockState returns the state path of the lock that every change takes, for lockfile.Inspect and
// for the command probate.
func (f *Folder) LockState() string { return filepath.Join(f.dir, lockState) }

func (f *Folder) judge(s Stamp) identity.Finding {
	switch {
	case f.opts.Judge != nil:
		return f.opts.Judge(s)
	case f.opts.Lock.System != nil:
		return identity.JudgeOn(f.opts.Lock.System, s.Process)
	}
	return identity.Judge(s.Process)
}

// look opens the folder for reading.
func (f *Folder) look(op string) (*view, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		v := &view{f: f, op: op}
		return nil, v.failed("open the folder", ".", "", err)
	}
	return &view{f: f, op: op, root: root}, nil
}

func (v *view) close() { _ = v.root.Close() }

// locked runs fn while nobody else changes the folder.
func (f *Folder) locked(ctx context.Context, op string, fn func(w *writer) error) error {
	v, err := f.look(op)
	if err != nil {
		return err
	}
	defer v.close()
	const more = "nothing was changed: try again, with more time"
	if ctx.Err() != nil {
		e := v.failed("begin", ".", "", ended.Cause(ctx))
		e.Next = more
		return e
	}
	done, err := turn.Take(ctx, f.line())
	if errors.Is(err, turn.ErrReentrant) {
		return v.failed("lock the folder", lockState, "", err)
	}
	if err != nil {
		e := v.failed("wait for other goroutines", lockState, "", err)
		e.Next = more
		return e
	}
	defer done()
	lock, err := lockfile.Acquire(ctx, f.LockState(), f.opts.Lock)
	if err != nil {
		return v.failed("lock the folder", lockState, "", err)
	}
	w := &writer{view: v, lock: lock, ctx: ctx}
	if err = v.isFolderOf(lock); err == nil {
		if err = w.prepare(); err == nil {
			err = fn(w)
		}
		w.dropTemps()
	}
	tenure.End(lock, f.opts.Lock.Logger)
	return err
}

// isFolderOf says that the folder that was opened is the one that is locked. The path of the folder
// may be a link, which was changed in between.
func (v *view) isFolderOf(lock *lockfile.Lock) error {
	opened, err := v.root.Stat(".")
	if err != nil {
		return v.failed("look at the folder", ".", "", err)
	}
	locked, err := os.Stat(filepath.Dir(lock.State()))
	if err == nil && !os.SameFile(opened, locked) {
		err = errors.New("the path leads to another folder than before")
	}
	if err != nil {
		e := v.failed("compare the folder", ".", "", err)
		e.Next = "nothing was changed: try again"
		return e
	}
	return nil
}

// stamp is this process, now.
func (w *writer) stamp() (Stamp, error) {
	me, err := w.f.identity()
	if err != nil {
		return Stamp{}, w.failed("find out who this process is", ".", "", err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	return Stamp{Process: me, Fence: w.lock.Token(), At: now}, nil
}
