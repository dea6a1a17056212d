package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/statefile"
)

// seen is what a watch yields, in order, on a goroutine of its own.
type seen struct {
	value counter
	err   error
}

func watch(t testing.TB, f *statefile.File[counter]) (<-chan seen, func()) {
	ctx, cancel := context.WithCancel(always)
	all, ended := make(chan seen), make(chan struct{})
	go func() {
		defer close(ended)
		for c, err := range f.Watch(ctx) {
			select {
			case all <- seen{c, err}:
			case <-ctx.Done():
			}
		}
	}()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	return all, stop
}

// until takes what is yielded until it is what the test waits for.
func until(t testing.TB, all <-chan seen, what string, is func(seen) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(always, probetest.Patience)
	defer cancel()
	for {
		select {
		case s := <-all:
			if is(s) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("the watch never told: %s", what)
		}
	}
}

func number(n int) func(seen) bool {
	return func(s seen) bool { return s.err == nil && s.value.N == n }
}

func failed(err error) func(seen) bool {
	return func(s seen) bool { return errors.Is(s.err, err) }
}

// Whoever changes the file, and however: the last change is told, and what is told is whole.
func TestWatch(t *testing.T) {
	f := newFile(t)
	all, stop := watch(t, f)
	until(t, all, "there is no file", failed(os.ErrNotExist))
	noError(t, f.Save(always, counter{}.plus(1)))
	until(t, all, "created", number(1))

	child := probetest.Start(t, "writer", f.Path())
	adds := 50
	if testing.Short() {
		adds = 10 // under Wine each takes long
	}
	child.Send(fmt.Sprint("add ", adds)) // faster than anybody looks, perhaps
	last := 1
	until(t, all, "the last of them", func(s seen) bool {
		if s.err != nil || s.value.N <= last || s.value.N != s.value.Twice {
			t.Errorf("%+v came after %d", s, last)
		}
		last = s.value.N
		return s.value.N == 1+adds
	})
	noError(t, os.WriteFile(f.Path(), []byte("{"), 0o600)) // in place
	until(t, all, "damaged", failed(statefile.ErrCorrupt))
	_, err := f.Restore(always)
	noError(t, err)
	until(t, all, "restored", number(adds))
	noError(t, os.Remove(f.Path()))
	until(t, all, "removed", failed(os.ErrNotExist))
	noError(t, os.Rename(f.Previous(), f.Path()))
	until(t, all, "moved in", number(adds))
	stop()
}

// A link is followed, and so is a change of what it names.
func TestWatchLink(t *testing.T) {
	f, g := newFile(t), newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	noError(t, g.Save(always, counter{}.plus(5)))
	link := filepath.Join(filepath.Dir(f.Path()), "link")
	if !symlink(f.Path(), link) {
		t.Skip("there are no symbolic links here")
	}
	all, _ := watch(t, statefile.Open[counter](link, statefile.Options{}))
	until(t, all, "first", number(1))
	noError(t, f.Save(always, counter{}.plus(2)))
	until(t, all, "second", number(2))
	noError(t, os.Symlink(g.Path(), link+".new"))
	noError(t, os.Rename(link+".new", link))
	until(t, all, "the other file", number(5))
	noError(t, g.Save(always, counter{}.plus(6)))
	until(t, all, "its second version", number(6))
}

// A directory that is removed and made again is watched again.
func TestWatchDirectory(t *testing.T) {
	base := filepath.Join(t.TempDir(), "dir")
	noError(t, os.Mkdir(base, 0o700))
	f := statefile.Open[counter](filepath.Join(base, "state.json"), statefile.Options{})
	noError(t, f.Save(always, counter{}.plus(1)))
	all, _ := watch(t, f)
	until(t, all, "first", number(1))
	noError(t, os.Rename(base, base+".old"))
	until(t, all, "gone", failed(os.ErrNotExist))
	noError(t, os.Mkdir(base, 0o700))
	noError(t, f.Save(always, counter{}.plus(2)))
	until(t, all, "again", number(2))
	noError(t, f.Save(always, counter{}.plus(3)))
	until(t, all, "and on", number(3))
}

// The loop can be left at any time, and its context can end: nothing goes on running.
func TestWatchEnds(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	before := runtime.NumGoroutine()
	for range 20 {
		for range f.Watch(always) {
			break
		}
		ctx, cancel := context.WithCancel(always)
		for range f.Watch(ctx) {
			cancel()
		}
		for range f.Watch(ctx) {
			t.Error("told something after the context had ended")
		}
		cancel()
	}
	end := time.Now().Add(probetest.Patience)
	for runtime.NumGoroutine() > before { // those of the notifier end when they get to it
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}
