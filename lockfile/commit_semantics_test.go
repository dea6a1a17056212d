package lockfile_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/probate-dev/probate/lockfile"
)

func tryAcquire(t testing.TB, state string, opts lockfile.Options) *lockfile.Lock {
	t.Helper()
	lock, err := lockfile.TryAcquire(state, opts)
	noError(t, err)
	t.Cleanup(func() { lock.Release() })
	return lock
}

var always = context.Background()

// An error of the function is returned as it is, and costs nothing.
func TestCommitFails(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	own := errors.New("changed my mind")
	if err := lock.Commit(always, func() error { return own }); err != own {
		t.Errorf("error is %v, want %v as it is", err, own)
	}
	noError(t, lock.Check())

	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		lock.Commit(always, func() error { panic("in the gate") })
	}()
	noError(t, lock.Commit(always, func() error { return nil })) // the gate was let go

	ended, cancel := context.WithCancel(always)
	cancel()
	err := lock.Commit(
		ended,
		func() error { t.Error("run after the context had ended"); return nil },
	)
	wantError(t, err, context.Canceled)
	noError(t, lock.Check())
	noError(t, lock.Release())
}

// A reader that fails changes nothing, and how much was read of one is told.
func TestWriteFrom(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	n, err := lock.WriteFrom(state, iotest.OneByteReader(strings.NewReader("byte by byte")), 0o600)
	if noError(t, err); n != 12 || content(t, state) != "byte by byte" {
		t.Errorf("%d bytes, the state is %q", n, content(t, state))
	}
	half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrNoProgress))
	n, err = lock.WriteFrom(state, half, 0o600)
	wantError(t, err, io.ErrNoProgress)
	wantText(t, err.Error(), state, "read the new content")
	if n != 4 || content(t, state) != "byte by byte" {
		t.Errorf("%d bytes, the state is %q", n, content(t, state))
	}
	if n, err = lock.WriteFrom(state, strings.NewReader(""), 0o600); n != 0 || err != nil ||
		content(t, state) != "" {
		t.Errorf("%d bytes, %v, the state is %q", n, err, content(t, state))
	}
	noError(t, lock.Check())
	noLeftoversBut(t, state, "state.lock")
}

// After a release everything refuses, and touches nothing, even if the lock is another's by now.
func TestAfterRelease(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	ctx := lock.Context()
	noError(t, ctx.Err())
	noError(t, lock.Release())
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != lockfile.ErrReleased {
		t.Errorf("the cause is %v", cause)
	}
	other := tryAcquire(t, state, lockfile.Options{})
	for name, use := range map[string]func() error{
		"Release": lock.Release, "Check": lock.Check,
		"Commit": func() error {
			return lock.Commit(always, func() error { t.Error("run"); return nil })
		},
		"WriteFile": func() error { return lock.WriteFile(state, []byte("late"), 0o600) },
		"WriteFrom": func() error {
			_, err := lock.WriteFrom(state, iotest.ErrReader(errors.New("read")), 0o600)
			return err
		},
	} {
		err := use()
		if !errors.Is(err, lockfile.ErrReleased) || errors.Is(err, lockfile.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
		wantText(t, err.Error(), state)
	}
	if <-lock.Context().Done(); context.Cause(lock.Context()) != lockfile.ErrReleased {
		t.Errorf("the cause is %v", context.Cause(lock.Context()))
	}
	noError(t, other.Check())
	noError(t, other.Release())
	if _, err := os.Stat(state); err == nil {
		t.Error("something was written")
	}
}

// A release beside a write, which waits for more to read, does not wait for it; the write finds the
// lock released, and takes its temporary with it.
func TestReleaseBesideWrite(t *testing.T) {
	for _, name := range []string{"state", "other"} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			path := filepath.Join(filepath.Dir(state), name)
			noError(t, os.WriteFile(path, []byte("old"), 0o600))
			lock := tryAcquire(t, state, lockfile.Options{})
			r, w := io.Pipe()
			failed := make(chan error, 1)
			go func() {
				_, err := lock.WriteFrom(path, r, 0o600)
				failed <- err
			}()
			_, err := w.Write([]byte("the beginning"))
			noError(t, err)
			noError(t, lock.Release())
			noError(t, w.Close())
			if err := <-failed; !errors.Is(err, lockfile.ErrReleased) ||
				errors.Is(err, lockfile.ErrLost) {
				t.Errorf("the write: %v", err)
			}
			if text := content(t, path); text != "old" {
				t.Errorf("there is %q", text)
			}
			noLeftovers(t, state)
			noError(t, tryAcquire(t, state, lockfile.Options{}).Release())
		})
	}
}

// The gate is deleted while a commit is inside: others may have come in, so it is unsure.
func TestGateLostInCommit(t *testing.T) {
	notOnWine(t, "a removed file that is open keeps its name")
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	err := lock.Commit(always, func() error {
		if err := os.Remove(state + ".fence"); err != nil {
			return err
		}
		return replace(state, "text")
	})
	wantError(t, err, lockfile.ErrUnsure)
	if text := content(t, state); text != "text" {
		t.Errorf("the state is %q", text)
	}
	noError(t, lock.WriteFile(state, []byte("more"), 0o600)) // the record stands: not lost
	noError(t, lock.Release())
}
