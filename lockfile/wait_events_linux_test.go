package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/lockfile"
)

// These tests are not parallel: while they run, nothing but an event brings a waiter in front of
// the queue back to look again. A waiter that missed one would sleep until the test times out.

// waiter acquires in the background. waits is closed when it has begun to wait, done when it has
// the lock or an error.
type waiter struct {
	waits, done chan struct{}
	lock        *lockfile.Lock
	err         error
}

func startWaiter(ctx context.Context, state string, opts lockfile.Options) *waiter {
	w := &waiter{waits: make(chan struct{}), done: make(chan struct{})}
	opts.OnWaiting = func(lockfile.Inspection) {
		select {
		case <-w.waits:
		default:
			close(w.waits)
		}
	}
	go func() {
		defer close(w.done)
		w.lock, w.err = lockfile.Acquire(ctx, state, opts)
	}()
	return w
}

func TestReleaseWakes(t *testing.T) {
	lockfile.OnlyEvents(t)
	state := newState(t)
	owner := startActor(t, state)
	for range 20 {
		tenureOf(t, owner.Ask("acquire"))
		w := startWaiter(t.Context(), state, lockfile.Options{})
		<-w.waits
		expect(t, owner, "release", "ok")
		<-w.done
		noError(t, w.err)
		noError(t, w.lock.Release())
	}
	noLeftovers(t, state)
}

func TestDeathWakes(t *testing.T) {
	lockfile.OnlyEvents(t)
	state := newState(t)
	for i := range 10 {
		owner := startActor(t, state)
		tenureOf(t, owner.Ask("acquire"))
		w := startWaiter(t.Context(), state, lockfile.Options{})
		<-w.waits
		if i%2 == 0 {
			owner.Kill()
		} else {
			owner.KillNoReap()
		}
		<-w.done
		noError(t, w.err)
		if w.lock.Recovered() == nil {
			t.Error("taken over from nobody")
		}
		noError(t, w.lock.Release())
	}
}

// The process of an owner in another pid namespace cannot be watched. Its end closes its record.
func TestDeathInOtherNamespaceWakes(t *testing.T) {
	skipUnlessRoot(t)
	lockfile.OnlyEvents(t)
	state := newState(t)
	owner := startHolder(t, state, inNamespaces(unix.CLONE_NEWPID|unix.CLONE_NEWNS), "private",
		"mount proc /proc")
	w := startWaiter(t.Context(), state, lockfile.Options{})
	<-w.waits
	owner.Kill()
	<-w.done
	noError(t, w.err)
	noError(t, w.lock.Release())
}

// A break takes the record away from an owner that lives.
func TestBreakWakes(t *testing.T) {
	lockfile.OnlyEvents(t)
	state := newState(t)
	owner := startActor(t, state)
	id, _, _ := tenureOf(t, owner.Ask("acquire"))
	w := startWaiter(t.Context(), state, lockfile.Options{})
	<-w.waits
	_, err := lockfile.Break(t.Context(), state, lockfile.BreakRequest{LockID: id, Reason: "test",
		EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
	<-w.done
	noError(t, w.err)
	if w.lock.Token() != 1 {
		t.Errorf("fence %d", w.lock.Token())
	}
	noError(t, w.lock.Release())
}

// Everybody gets a turn, however many wait, in one process and in several.
func TestEverybodyGetsATurn(t *testing.T) {
	lockfile.OnlyEvents(t)
	state := newState(t)
	owner := startActor(t, state)
	tenureOf(t, owner.Ask("acquire"))
	var all []*waiter
	for range 60 {
		all = append(all, startWaiter(t.Context(), state, lockfile.Options{}))
	}
	for _, w := range all {
		<-w.waits
	}
	expect(t, owner, "release", "ok")
	var inside sync.Mutex
	var done sync.WaitGroup
	for _, w := range all {
		done.Go(func() {
			<-w.done
			if w.err != nil {
				t.Error(w.err)
				return
			}
			if !inside.TryLock() {
				t.Error("two have the lock")
				return
			}
			inside.Unlock()
			if err := w.lock.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	noLeftovers(t, state)
}

// Who gives up leaves no goroutine and no descriptor behind.
func TestWaitersLeaveNothing(t *testing.T) {
	state := newState(t)
	owner := startActor(t, state)
	tenureOf(t, owner.Ask("acquire"))
	give := errors.New("enough")
	waitOnce := func() {
		ctx, cancel := context.WithCancelCause(t.Context())
		var all []*waiter
		for range 10 {
			all = append(all, startWaiter(ctx, state, lockfile.Options{}))
		}
		for _, w := range all {
			<-w.waits
		}
		cancel(give)
		for _, w := range all {
			<-w.done
			wantError(t, w.err, give)
		}
	}
	waitOnce()
	goroutines, files := runtime.NumGoroutine(), openDescriptors(t)
	for range 5 {
		waitOnce()
	}
	nothingLeft(t, goroutines, files)
	expect(t, owner, "release", "ok")
}

// A holder whose lock is taken away learns it although it looks at nothing itself.
func TestLossWakes(t *testing.T) {
	lockfile.OnlyEvents(t)
	for name, take := range map[string]func(lock *lockfile.Lock, state string) error{
		"broken": func(lock *lockfile.Lock, state string) error {
			_, err := lockfile.Break(t.Context(), state, lockfile.BreakRequest{LockID: lock.ID(),
				Reason: "test", EvenIfAlive: true}, lockfile.Options{})
			return err
		},
		"removed": func(_ *lockfile.Lock, state string) error { return os.Remove(state + ".lock") },
		"renamed": func(_ *lockfile.Lock, state string) error {
			return os.Rename(state+".lock", state+".lock.aside")
		},
		"written over": func(_ *lockfile.Lock, state string) error {
			return os.WriteFile(state+".lock", []byte("mine"), 0o600)
		},
		"the counter is raised": func(_ *lockfile.Lock, state string) error {
			counter, err := fence.Open(state + ".fence")
			noError(t, err)
			gate, err := counter.Hold(t.Context())
			noError(t, err)
			return errors.Join(gate.Raise(7), gate.Release())
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			lock, err := lockfile.TryAcquire(state, lockfile.Options{})
			noError(t, err)
			ctx := lock.Context()
			for !lockfile.Watches(lock) {
				runtime.Gosched()
			}
			noError(t, take(lock, state))
			<-ctx.Done()
			wantError(t, context.Cause(ctx), lockfile.ErrLost)
			wantError(t, lock.Release(), lockfile.ErrLost)
		})
	}
}

// Held locks that nobody uses cost one descriptor each and no goroutine, watched or not, and can
// be used again.
func TestIdleLocksCostLittle(t *testing.T) {
	const locks, others = 40, 12 // the runtime's, the reserve, the watcher
	goroutines, files := runtime.NumGoroutine(), openDescriptors(t)
	var all []*lockfile.Lock
	for i := range locks {
		lock, err := lockfile.TryAcquire(newState(t), lockfile.Options{})
		noError(t, err)
		if i%2 == 0 {
			lock.Context()
		}
		all = append(all, lock)
	}
	nothingLeft(t, goroutines+others, files+locks+others)
	for _, lock := range all {
		noError(t, lock.Check())
		noError(t, lock.WriteFile(lock.State(), []byte("x"), 0o600))
		noError(t, lock.Release())
	}
}

// The directory of an idle lock may be renamed meanwhile.
func TestIdleLockMoves(t *testing.T) {
	state := newState(t)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	lockfile.Settle(lock)
	moved := filepath.Dir(state) + ".moved"
	noError(t, os.Rename(filepath.Dir(state), moved))
	noError(t, os.Mkdir(filepath.Dir(state), 0o700)) // another one stands there now
	noError(t, lock.Check())
	noError(t, lock.Release())
	noLeftovers(t, filepath.Join(moved, filepath.Base(state)))
	noError(t, os.RemoveAll(moved))
}
