package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/probate-dev/probate/internal/vfs"
)

// fileGate is the gate of a Counter while it is held.
type fileGate struct {
	c    *Counter
	dir  vfs.Dir
	done func() // lets dir go
	f    vfs.File
	info vfs.Info // of f
	size int64    // of the file at the name, when it was last looked at
	buf  [readSize]byte

	entered struct { // the number as it was when the gate was taken, if it was looked at
		token Token
		known bool
	}
	stale bool // f is not the file at the name any more
	made  bool // f was made by this gate

	mu       sync.Mutex
	released bool
}

// still reports whether the locked file is the one at the name.
func (g *fileGate) still() error {
	info, err := g.dir.Stat(g.c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.SameFile(g.info),
		errors.Is(err, vfs.ErrInUse): // it was removed, and is there as long as it is open
		return g.c.fail("keep the gate of", ErrGateLost)
	case err != nil:
		return g.c.fail("look at", err)
	}
	g.size = info.Size
	return nil
}

// settle reads the counter of a gate that was just taken, and repairs it where that is needed.
// created says that this attempt made the file, from a floor that it asked for outside of any gate.
func (g *fileGate) settle(created bool) error {
	c := g.c
	b, err := readSized(g.f, g.size, g.buf[:])
	if err != nil {
		return g.c.fail("read", err)
	}
	t, damage := c.judge(b, Token(c.seen.Load()))
	if damage == nil && !created {
		g.entered.token, g.entered.known = t, true
		c.saw(t)
		return nil
	}
	opts := c.options()
	if damage != nil && opts.Floor == nil {
		return g.c.fail("read", damage) // nobody knows what it was
	}
	floor, err := c.floor()
	if err != nil {
		return err
	}
	was := "missing"
	switch {
	case damage != nil:
		if was, err = g.repairable(b, damage); err != nil {
			return g.c.fail("repair", err)
		}
	case t >= floor:
		floor = t // as created: nothing to write
	}
	if damage != nil || floor > t {
		if err := g.write(floor); err != nil {
			return g.c.fail("repair", err)
		}
	}
	c.saw(floor)
	if opts.Repaired != nil && (damage != nil || floor > 0) {
		opts.Repaired(was, floor)
	}
	return nil
}

// repairable refuses to write into what may be somebody's data, and says what was there.
func (g *fileGate) repairable(b []byte, damage error) (was string, err error) {
	info, err := g.f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Size > repairable:
		return "", fmt.Errorf("%w: %d bytes are no counter, left alone", damage, info.Size)
	case info.Links > 1:
		return "", fmt.Errorf("%w: the file has %d names, left alone", damage, info.Links)
	case len(b) == 0:
		return "empty", nil
	}
	return quote(b), nil
}

// write sets the number durably: one write, no growing, no shrinking but of what was damaged.
func (g *fileGate) write(t Token) error {
	if _, err := g.f.WriteAt(encode(t), 0); err != nil {
		return err
	}
	info, err := g.f.Stat()
	if err != nil {
		return err
	}
	if info.Size > width {
		if err := g.f.Truncate(width); err != nil {
			return err
		}
	}
	return g.f.Sync()
}

func (g *fileGate) Current() (Token, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current("read")
}

// Entered returns the number that was read when the gate of a Counter was taken. False: it was not,
// or it had to be repaired.
func Entered(gate Gate) (Token, bool) {
	if g, ok := gate.(*fileGate); ok {
		return g.entered.token, g.entered.known
	}
	return 0, false
}

// Still returns an error that matches ErrGateLost if the gate of a Counter excludes nobody any
// more, because its file was removed or replaced. It does not look at the number.
func Still(gate Gate) error {
	g, ok := gate.(*fileGate)
	if !ok {
		_, err := gate.Current()
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return g.c.fail("look at", ErrReleased)
	}
	return g.still()
}

func (g *fileGate) current(op string) (Token, error) {
	if g.released {
		return 0, g.c.fail(op, ErrReleased)
	}
	if err := g.still(); err != nil {
		return 0, err
	}
	b, err := readSized(g.f, g.size, g.buf[:])
	if err != nil {
		return 0, g.c.fail("read", err)
	}
	t, err := g.c.judge(b, Token(g.c.seen.Load()))
	if err != nil {
		return 0, g.c.fail("read", err)
	}
	g.c.saw(t)
	return t, nil
}

func (g *fileGate) Raise(to Token) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	current, err := g.current("raise")
	if err != nil {
		return err
	}
	if err := raisable(g.c.Path(), current, to); err != nil {
		return err
	}
	if err := g.write(to); err != nil {
		return g.c.fail("raise", err)
	}
	// Once for each file: whoever created it may have died before the name was on disk.
	if err := g.c.flushName(g.dir, g.info); err != nil {
		return g.c.fail("raise", err)
	}
	if err := g.still(); err != nil {
		return err
	}
	g.c.saw(to)
	return nil
}

func (g *fileGate) Release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return g.c.fail("release", ErrReleased)
	}
	g.released = true
	err := g.close()
	g.done()
	if g.c.opts.WithoutKernelLock {
		<-g.c.slot
	}
	return g.c.fail("release", err)
}

// close unlocks and closes the file. Unlocked by hand, as a child that was forked meanwhile may
// have the descriptor too.
func (g *fileGate) close() error {
	err := g.f.Unlock(vfs.GateLock())
	if errors.Is(err, errors.ErrUnsupported) && g.c.opts.WithoutKernelLock {
		err = nil
	}
	// A file that its maker keeps open, others cannot remove where the system keeps it for him.
	if err != nil || g.stale || g.made && vfs.OwnerKeeps() {
		return errors.Join(err, g.f.Close(), g.c.kept.forget(g.f))
	}
	return g.c.kept.giveBack(g.f, g.info)
}
