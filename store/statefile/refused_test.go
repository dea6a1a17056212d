package statefile_test

import (
	"context"
	"errors"

	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/statefile"
)

func lockOptions(gateWait time.Duration) lockfile.Options {
	return lockfile.Options{GateWait: gateWait}
}

// A living writer is waited for; who gives up learns who it is.
func TestContended(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	other := lockfiletest.Held(t, f.Path())
	_, err := f.TryUpdate(increment)
	wants(t, err, statefile.ErrContended)
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	if !ok || busy.Owner == nil || busy.Owner.PID != other.PID() {
		t.Errorf("%v does not say who", err)
	}
	own := errors.New("enough")
	ctx, stop := context.WithCancelCause(always)
	defer stop(nil)
	impatient := statefile.Open[counter](f.Path(), statefile.Options{Lock: lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { stop(own) }}})
	_, err = impatient.Update(ctx, increment)
	wants(t, err, statefile.ErrContended)
	wants(t, err, own)
	stands(t, f, 1, -1) // readers wait for nobody
	noError(t, other.Release())
	_, err = f.Update(always, increment)
	noError(t, err)
	stands(t, f, 2, 1)
}

// What cannot be had by waiting is another error than what can.
func TestBusy(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	lockfiletest.Unknown(t, f.Path())
	for range 2 {
		_, err := f.Update(always, increment)
		wants(t, err, statefile.ErrBusy)
		if errors.Is(err, statefile.ErrContended) {
			t.Errorf("%v is both", err)
		}
	}
	stands(t, f, 1, -1)
	breakLock(t, f.Path())

	gate, err := fence.Open(f.Path() + ".fence")
	noError(t, err)
	held, err := gate.Hold(always)
	noError(t, err)
	g := statefile.Open[counter](f.Path(), statefile.Options{Lock: lockOptions(time.Millisecond)})
	_, err = g.Update(always, increment)
	wants(t, err, statefile.ErrBusy)
	stands(t, f, 1, -1)
	noError(t, held.Release())
	_, err = f.Update(always, increment) // the lock was given back as soon as that was possible
	noError(t, err)
	stands(t, f, 2, 1)
}

// A lock that somebody removed without a word is lost, and not fenced.
func TestLost(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	var removed error
	_, err := f.Update(always, func(c counter) (counter, error) {
		if removed = os.Remove(f.Path() + ".lock"); removed != nil {
			return c, nil
		}
		return c.plus(1), nil
	})
	if removed != nil && runtime.GOOS == "windows" {
		noError(t, err) // the system keeps the lock of a living owner from being removed
	} else {
		noError(t, removed)
		wants(t, err, statefile.ErrLost)
		if errors.Is(err, statefile.ErrFenced) {
			t.Errorf("%v", err)
		}
	}
	_, err = f.Update(always, func(c counter) (counter, error) {
		breakLock(t, f.Path())
		return c.plus(1), nil
	})
	wants(t, err, statefile.ErrFenced)
	// Also where there would have been nothing to write.
	_, err = f.Update(always, func(c counter) (counter, error) {
		breakLock(t, f.Path())
		return c, nil
	})
	wants(t, err, statefile.ErrFenced)
	stands(t, f, 1, -1)
	free(t, f.Path())
}

// Two spellings of one file are one file, with one lock. (Existing writers take the path as text.)
func TestSpellings(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(0)))
	link := filepath.Join(t.TempDir(), "link.json")
	if !symlink(f.Path(), link) {
		t.Skip("there are no symbolic links here")
	}
	g := statefile.Open[counter](link, statefile.Options{})
	children := []*probetest.Child{probetest.Start(t, "writer", f.Path()),
		probetest.Start(t, "writer", link)}
	for _, c := range children {
		c.Send("add 20")
	}
	for range 20 {
		_, err := g.Update(always, increment)
		noError(t, err)
		for _, c := range children {
			c.Expect("ok")
		}
	}
	stands(t, f, 60, 59)
	stands(t, g, 60, 59)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

// What stands at the path and is no file is refused, and nobody waits for it.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	for _, path := range append([]string{dir}, fifos(t, dir)...) {
		f := statefile.Open[counter](path, statefile.Options{})
		if _, err := f.Load(); err == nil {
			t.Errorf("%s was loaded", path)
		} else {
			wants(t, err, err)
		}
		if err := f.Save(always, counter{}); err == nil {
			t.Errorf("%s was replaced", path)
		}
	}
	missing := statefile.Open[counter](filepath.Join(dir, "no", "state"), statefile.Options{})
	wants(t, missing.Save(always, counter{}), os.ErrNotExist)
	for _, err := range missing.Watch(always) {
		wants(t, err, os.ErrNotExist)
	}
}
