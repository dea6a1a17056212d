package lockfile_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

const soon = 100 * time.Millisecond // for GateWait, where nobody will leave the gate

// stopped is what a refusal must say about a process that was stopped inside the gate.
func stopped(t *testing.T, text string, pid int) {
	t.Helper()
	wantText(t, text, lockfile.ErrGateBusy.Error(), "process "+strconv.Itoa(pid), "stopped",
		"continue it or end it")
}

// A holder that is stopped in the middle of a commit delays everybody, for a bounded time, and is
// named. When it goes on, everything does.
func TestStoppedInsideTheGate(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder, below := startActor(t, state), startActor(t, state, knobs{GateWait: soon})
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	expect(t, below, "inherit "+holder.Ask("environ"), "ok")
	expect(t, below, "write first", "ok")
	expect(t, holder, "commit second", "inside")
	holder.Stop()

	stopped(t, below.Ask("write never"), holder.PID())
	req := lockfile.BreakRequest{LockID: id, Reason: "test", EvenIfAlive: true}
	_, err := lockfile.Break(always, state, req, lockfile.Options{GateWait: soon})
	wantError(t, err, lockfile.ErrGateBusy)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("as if the caller's time were up: %v", err)
	}
	stopped(t, err.Error(), holder.PID())
	if kind := lockfile.KindOf(err); kind != lockfile.KindGateBusy {
		t.Errorf("kind %s", kind)
	}
	err = inVain(t, lockfile.ErrGateBusy, func(ctx context.Context) error {
		_, err := lockfile.Break(ctx, state, req, lockfile.Options{})
		return err
	})
	wantError(t, err, context.DeadlineExceeded)
	// Looking does not need the gate; and stopped is alive.
	if in := inspect(t, state); in.Verdict != identity.Alive || in.LockID != id {
		t.Errorf("%v", in.Finding)
	}
	if text := content(t, state); text != "first" {
		t.Errorf("the state is %q", text)
	}

	holder.Cont()
	holder.Send("go")
	holder.Expect("ok")
	if text := content(t, state); text != "second" {
		t.Errorf("the state is %q", text)
	}
	expect(t, below, "write third", "ok")
	expect(t, holder, "release", "ok")
	noLeftovers(t, state)
}

// With a stranger stopped inside the gate, an abandoned lock cannot be taken over and a lock cannot
// be released, until it goes on; a free lock can be taken.
func TestStrangerStoppedInsideTheGate(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder, stranger := startActor(t, state, knobs{GateWait: soon}), startActor(t, state)
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	expect(t, stranger, "gate", "ok")
	stranger.Stop()

	said := holder.Ask("release")
	stopped(t, said, stranger.PID())
	wantText(t, said, "failed gate-busy", "release "+state, state+".fence")
	expect(t, holder, "check", "ok") // it is held as before
	said = holder.Ask("write never")
	stopped(t, said, stranger.PID())
	holder.Kill()

	opts := lockfile.Options{GateWait: soon}
	for name, acquire := range map[string]func() (*lockfile.Lock, error){
		"Acquire": func() (*lockfile.Lock, error) {
			return lockfile.Acquire(context.Background(), state, opts)
		},
		"Recover": func() (*lockfile.Lock, error) {
			_, err := lockfile.Recover(context.Background(), state, opts)
			return nil, err
		},
	} {
		lock, err := acquire()
		if lock != nil {
			t.Fatalf("%s: a lock without the gate", name)
		}
		wantError(t, err, lockfile.ErrGateBusy)
		stopped(t, err.Error(), stranger.PID())
		if busy, ok := errors.AsType[*lockfile.BusyError](err); ok &&
			(busy.LockID != id || busy.Verdict != identity.Gone) {
			t.Errorf("%s: %+v", name, busy.Finding)
		}
	}
	if in := inspect(t, state); in.LockID != id || in.Fence.Counter != 0 {
		t.Errorf("%v, fence %+v", in.Finding, in.Fence)
	}
	stranger.Cont()
	expect(t, stranger, "leave", "ok")
	lock, err := lockfile.TryAcquire(state, opts)
	noError(t, err)
	if lock.Token() != 1 || lock.Recovered().LockID != id {
		t.Errorf("token %d, recovered %+v", lock.Token(), lock.Recovered())
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// Killed inside the gate: it is free at once, and the lock is to be had.
func TestKilledInsideTheGate(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	tenureOf(t, holder.Ask("acquire"))
	expect(t, holder, "commit never", "inside")
	holder.Kill()
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	if lock.Token() != 1 {
		t.Errorf("token %d", lock.Token())
	}
	noError(t, lock.Release())

	stranger := startActor(t, state)
	expect(t, stranger, "gate", "ok")
	stranger.Stop()
	stranger.Kill()
	abandon(t, state)
	lock, err = lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// An acquire that cannot have a number of its own, because somebody stays in the gate, leaves
// nothing behind: no record that lives as long as the process that failed.
func TestFreshTokenWithoutTheGate(t *testing.T) {
	t.Parallel()
	state := newState(t)
	stranger := startActor(t, state)
	expect(t, stranger, "gate", "ok")
	fresh := lockfile.Options{FreshToken: true, GateWait: soon}
	_, err := lockfile.Acquire(always, state, fresh)
	wantError(t, err, lockfile.ErrGateBusy)
	if strings.Contains(err.Error(), "free: there is no record") {
		t.Errorf("%v: that is not why", err)
	}
	if in := inspect(t, state); in.Verdict != identity.Free {
		t.Errorf("after a refusal: %v", in.Finding)
	}
	expect(t, stranger, "leave", "ok")
	lock, err := lockfile.TryAcquire(state, lockfile.Options{FreshToken: true})
	noError(t, err)
	noError(t, lock.Release())
	noLeftovers(t, state)
}
