package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/internal/vfs"
)

// Counter is a Store in one small file. The file is the gate as well: whoever has its kernel lock
// is inside. It is created once, complete, and after that only written in place; never replaced,
// never removed. A Counter keeps nothing open between calls, but after Keep, and needs no Close;
// any number of them, in any number of processes, may stand for one file.
type Counter struct {
	dir  vfs.Dir // nil: opened for each call by its path
	at   string  // path of the directory, where dir is nil
	name string
	opts Options
	of   Owner // says opts when they are needed; nil: opts are all
	kept kept

	// the highest number that was read inside the gate or raised here
	seen    atomic.Uint64
	flushed atomic.Pointer[vfs.Info] // the file whose name is known to be on disk
	// the gate of this Counter alone, where there is no kernel lock
	slot chan struct{}
}

// Bounds of loops that end otherwise only if everybody else behaves.
const (
	attempts      = 100
	staleAttempts = 5
)

// repairable is the size up to which a damaged file is repaired. More than that is somebody's data.
const repairable = 64 << 10

// Open returns the counter in the file path, which need not exist: a missing counter is at 0, and
// is created by the first Hold. Nothing is created or changed now. The directory must exist.
func Open(path string) (*Counter, error) {
	dir, name, err := vfs.OS().Resolve(path)
	if err != nil {
		return nil, fail("open", path, err)
	}
	c := New(nil, name, Options{UID: -1, GID: -1})
	c.at = dir
	return c, nil
}

// New returns the counter in the file name in dir, which stays the caller's and must stay open
// while the counter is used.
func New(dir vfs.Dir, name string, opts Options) *Counter {
	c := &Counter{dir: dir, name: name}
	c.setOptions(opts)
	return c
}

func (c *Counter) setOptions(opts Options) {
	c.opts = opts
	if opts.WithoutKernelLock {
		c.slot = make(chan struct{}, 1)
	}
}

// Path returns the path of the file.
func (c *Counter) Path() string {
	if c.dir != nil {
		return filepath.Join(c.dir.Path(), c.name)
	}
	return filepath.Join(c.at, c.name)
}

// fail is fail with the path of the file.
func (c *Counter) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fail(op, c.Path(), err)
}

// Guard is explained at Store. It also fails, with ErrGateLost, when the gate did not exclude
// everybody until fn had ended: fn was run, but others may have been inside.
func (c *Counter) Guard(ctx context.Context, token Token, fn func() error) error {
	return guard(ctx, c, c.Path(), token, fn, func(g Gate) error { return g.(*fileGate).still() })
}

// Current is explained at Store. It changes nothing. A missing file is at Options.Floor or 0, but
// never below what this Counter has seen; a damaged one is ErrDamaged, and is repaired by whoever
// takes the gate next.
func (c *Counter) Current() (Token, error) {
	dir, done, err := c.openDir()
	if err != nil {
		return 0, err
	}
	defer done()
	seen := Token(c.seen.Load()) // before the file is read, which may have grown since
	for range staleAttempts {
		var f vfs.File
		if f, err = dir.Open(c.name, vfs.Read); err == nil {
			var b []byte
			b, err = readStable(f)
			f.Close()
			if err == nil {
				t, err := c.judge(b, seen)
				return t, c.fail("read", err)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return c.floor()
		}
		if !vfs.Stale(err) {
			break
		}
	}
	return 0, c.fail("read", notRegular(err))
}

// TryHold is explained at Store.
func (c *Counter) TryHold() (Gate, error) {
	g, err := c.try(true)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// TryEnter is TryHold for who does not need the number: it is not looked at, and one that is
// damaged is left for others to repair.
func (c *Counter) TryEnter() (Gate, error) {
	g, err := c.try(false)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Hold is explained at Store. Who waits is not served in turn.
func (c *Counter) Hold(ctx context.Context) (Gate, error) {
	const shortest, longest = 50 * time.Microsecond, 5 * time.Millisecond
	if ctx.Err() != nil {
		return nil, c.fail("take the gate of", ended.Cause(ctx))
	}
	for pause := shortest; ; pause = min(2*pause, longest) {
		g, err := c.try(true)
		if err == nil {
			return g, nil
		}
		if !errors.Is(err, ErrGateBusy) {
			return nil, err
		}
		if err := c.pause(ctx, pause/2+rand.N(pause)); err != nil {
			return nil, c.fail("wait for the gate of", fmt.Errorf("%w: %w", ErrGateBusy, err))
		}
	}
}

func (c *Counter) pause(ctx context.Context, d time.Duration) error {
	if wait := c.options().Pause; wait != nil {
		if err := wait(ctx, d); err != nil {
			return err
		}
	} else {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ended.Cause(ctx)
	}
	return nil
}

func (c *Counter) openDir() (vfs.Dir, func(), error) {
	if c.dir != nil {
		return c.dir, func() {}, nil
	}
	dir, err := vfs.OS().OpenDir(c.at)
	if err != nil {
		return nil, nil, c.fail("open the directory of", err)
	}
	return dir, func() { dir.Close() }, nil
}

// try takes the gate, or says at once why not. number says that the number is looked at, and
// repaired where that is needed.
func (c *Counter) try(number bool) (_ *fileGate, err error) {
	if c.opts.WithoutKernelLock {
		select {
		case c.slot <- struct{}{}:
			defer func() {
				if err != nil {
					<-c.slot
				}
			}()
		default:
			return nil, c.fail("lock", ErrGateBusy)
		}
	}
	dir, done, err := c.openDir()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	stale, last := 0, errReplaced
	for range attempts {
		g, err := c.lockFile(dir)
		created := errors.Is(err, fs.ErrNotExist)
		switch {
		case created:
			g, err = c.create(dir)
			if made, ok := errors.AsType[*madeError](err); ok {
				last = made
				continue
			}
			if err != nil {
				return nil, err
			}
		case vfs.Stale(err) && stale < staleAttempts:
			stale++
			continue
		case err != nil:
			return nil, err
		}
		if g == nil { // somebody else made it
			continue
		}
		if err = g.still(); err == nil && (number || created) {
			err = g.settle(created)
		}
		if err == nil {
			g.done = done
			return g, nil
		}
		// Locks are on files. One that is not at the name any more is nobody's gate.
		lost := errors.Is(err, ErrGateLost)
		g.stale = lost
		if e := g.close(); e != nil || !lost {
			return nil, errors.Join(err, c.fail("release", e))
		}
	}
	return nil, c.fail("lock", fmt.Errorf("given up after %d tries: %w", attempts, last))
}

var errReplaced = errors.New("the file is replaced again and again")

// lockFile opens and locks the file at the name.
func (c *Counter) lockFile(dir vfs.Dir) (_ *fileGate, err error) {
	g := &fileGate{c: c, dir: dir}
	if g.f, g.info = c.kept.borrow(); g.f == nil {
		if g.f, err = dir.Open(c.name, vfs.ReadWrite); err != nil {
			return nil, c.fail("open", notRegular(err))
		}
		if g.info, err = vfs.Opened(g.f); err != nil {
			g.f.Close()
			return nil, c.fail("look at", err)
		}
	}
	if ok, err := c.lock(g.f); !ok {
		c.kept.giveBack(g.f, g.info)
		if err == nil {
			err = ErrGateBusy
		}
		return nil, c.fail("lock", err)
	}
	return g, nil
}

// notRegular lets an error that says "not a regular file" match ErrDamaged too.
func notRegular(err error) error {
	if errors.Is(err, vfs.ErrNotRegular) {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// floor is where a counter goes on that cannot be read.
func (c *Counter) floor() (Token, error) {
	t := Token(c.seen.Load())
	if ask := c.options().Floor; ask != nil {
		floor, err := ask()
		if err == nil && floor > Max {
			err = ErrTooLarge
		}
		if err != nil {
			return 0, c.fail("find the last number of", err)
		}
		t = max(t, floor)
	}
	return t, nil
}

// saw remembers a number that was certainly reached.
func (c *Counter) saw(t Token) {
	for {
		old := c.seen.Load()
		if uint64(t) <= old || c.seen.CompareAndSwap(old, uint64(t)) {
			return
		}
	}
}

// judge says what b means to somebody who has seen the number seen.
func (c *Counter) judge(b []byte, seen Token) (Token, error) {
	t, err := decode(b)
	if err == nil && t < seen {
		err = fmt.Errorf("it went back from %d to %d", seen, t)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t, nil
}

func readInto(f vfs.File, b []byte) ([]byte, error) {
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// readStable reads without the gate. A read may meet a write half-way and see digits of two
// numbers, so only what was read twice in a row counts.
func readStable(f vfs.File) ([]byte, error) {
	var room [2][]byte
	both := make([]byte, 2*readSize)
	room[0], room[1] = both[:readSize:readSize], both[readSize:]
	last, err := readInto(f, room[0])
	for i := range attempts {
		if err != nil {
			return nil, err
		}
		var b []byte
		if b, err = readInto(f, room[(i+1)%2]); err == nil && bytes.Equal(b, last) {
			return b, nil
		}
		last = b
	}
	return nil, errors.Join(err, errors.New("it changes all the time"))
}

// flushName flushes the directory once for each file that stands at the name.
func (c *Counter) flushName(dir vfs.Dir, file vfs.Info) error {
	if done := c.flushed.Load(); done != nil && done.SameFile(file) {
		return nil
	}
	if err := flushDir(dir); err != nil {
		return err
	}
	c.flushed.Store(&file)
	return nil
}

// flushDir flushes a directory, where the filesystem knows how.
func flushDir(dir vfs.Dir) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
