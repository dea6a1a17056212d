package lockfile_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// The holder releases, and the one who waits has the lock.
func TestWaitForRelease(t *testing.T) {
	t.Parallel()
	state := newState(t)
	first, second := startActor(t, state), startActor(t, state)
	id, _, _ := tenureOf(t, first.Ask("acquire"))
	expect(t, second, "announced", "waiting "+id)
	expect(t, first, "release", "ok")
	if _, token, recovered := tenureOf(t, second.Line()); token != 0 || recovered {
		t.Errorf("token %d, recovered %v, of a lock that was released", token, recovered)
	}
}

// The holder is killed, and the one who waits takes over.
func TestWaitForDeath(t *testing.T) {
	needsProof(t)
	t.Parallel()
	state := newState(t)
	first, second := startActor(t, state), startActor(t, state)
	id, _, _ := tenureOf(t, first.Ask("acquire"))
	expect(t, second, "announced", "waiting "+id)
	first.Kill()
	reply := second.Line()
	if reply == "waiting "+id { // a dying process lets its kernel lock go before it is dead
		reply = second.Line()
	}
	if _, token, recovered := tenureOf(t, reply); token != 1 || !recovered {
		t.Errorf("token %d, recovered %v, of a lock whose owner was killed", token, recovered)
	}
}

// watchedSystem counts how often somebody looked at a process.
type watchedSystem struct {
	probe.System
	looks atomic.Int32
	at    int32
	then  func() // called at the look with number at
}

func (s *watchedSystem) Process(pid int) probe.Process {
	if s.looks.Add(1) == s.at {
		s.then()
	}
	return s.System.Process(pid)
}

// OnWaiting tells once of every owner that is waited for, however often it is looked at.
func TestWaitingIsToldOnce(t *testing.T) {
	t.Parallel()
	state := newState(t)
	first, second := startActor(t, state), startActor(t, state)
	firstID, _, _ := tenureOf(t, first.Ask("acquire"))
	var secondID string
	sys := &watchedSystem{System: probe.Real(), at: 4, then: func() {
		// After a few looks at the first owner, while the waiter looks: the second one has it.
		expect(t, first, "release", "ok")
		secondID, _, _ = tenureOf(t, second.Ask("acquire"))
	}}
	var told []string
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, state, lockfile.Options{System: sys,
		OnWaiting: func(in lockfile.Inspection) {
			told = append(told, in.LockID)
			if in.Verdict != identity.Alive || in.Owner == nil {
				t.Errorf("waiting for %v, owner %+v", in.Finding, in.Owner)
			}
			if len(told) == 2 {
				expect(t, second, "release", "ok")
			}
		}})
	noError(t, err)
	defer lock.Release()
	if len(told) != 2 || told[0] != firstID || told[1] != secondID {
		t.Errorf("told of %q, want %q", told, []string{firstID, secondID})
	}
}

// inVain returns the error of fn, which waits until the deadline of its context and matches want.
// A deadline that passed before fn began to wait, as on a busy machine, is followed by a later one.
func inVain(t *testing.T, want error, fn func(context.Context) error) error {
	t.Helper()
	for wait := 20 * time.Millisecond; ; wait *= 4 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		err := fn(ctx)
		ended := ctx.Err() != nil
		cancel()
		if errors.Is(err, want) {
			return err
		}
		if !ended || wait > time.Minute {
			t.Fatalf("%v, want %v", err, want)
		}
	}
}

// A wait that ends with its context says for whom it waited, and leaves nothing behind.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	state := newState(t)
	owner := startActor(t, state, knobs{Label: "nightly import"})
	id, _, _ := tenureOf(t, owner.Ask("acquire"))

	err := inVain(t, lockfile.ErrBusy, func(ctx context.Context) error {
		_, err := lockfile.Acquire(ctx, state, lockfile.Options{})
		return err
	})
	wantError(t, err, context.DeadlineExceeded)
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	if busy.LockID != id || busy.Verdict != identity.Alive || busy.Owner.PID != owner.PID() ||
		busy.Owner.Label != "nightly import" || busy.Owner.Program == "" ||
		time.Since(busy.Owner.Since).Abs() > time.Hour || busy.State != state {
		t.Errorf("%+v, owner %+v", busy, busy.Owner)
	}
	wantText(t, err.Error(), "held", "alive", strconv.Itoa(owner.PID()), busy.Owner.Program,
		`"nightly import"`, "since "+busy.Owner.Since.Local().Format(time.DateTime), state+".lock",
		"deadline exceeded", "probate run --wait")

	stop := errors.New("the user pressed a key")
	ctx, stopNow := context.WithCancelCause(context.Background())
	defer stopNow(nil)
	_, err = lockfile.Acquire(ctx, state, lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { stopNow(stop) }})
	wantError(t, err, lockfile.ErrBusy)
	wantError(t, err, stop)
	wantError(t, err, context.Canceled)

	// One that has ended before it begins looks at nothing.
	_, err = lockfile.Acquire(ctx, "/no/such/place/state", lockfile.Options{})
	wantError(t, err, stop)
	wantError(t, err, context.Canceled)
	expect(t, owner, "release", "ok")
	noLeftovers(t, state)
}

// TryAcquire waits for nothing, not for the gate either.
func TestTryNeverWaits(t *testing.T) {
	state := newState(t)
	abandon(t, state)
	inside := startActor(t, state)
	expect(t, inside, "gate", "ok")
	const forever = time.Hour
	for name, opts := range map[string]lockfile.Options{
		"abandoned":             {GateWait: forever},
		"abandoned, fresh":      {GateWait: forever, FreshToken: true},
		"abandoned, not for us": {GateWait: forever, Recovery: lockfile.RecoverNever},
	} {
		lock, err := lockfile.TryAcquire(state, opts)
		if lock != nil || !errors.Is(err, lockfile.ErrBusy) ||
			strings.HasSuffix(name, "us") == errors.Is(err, lockfile.ErrGateBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if in := inspect(t, state); in.Verdict != identity.Gone || in.Fence.Counter != 0 {
		t.Errorf("%v, fence %+v", in.Finding, in.Fence)
	}
	expect(t, inside, "leave", "ok")
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	noError(t, lock.Release())

	// A free lock needs the gate only for a number of its own.
	expect(t, inside, "gate", "ok")
	lock, err = lockfile.TryAcquire(state, lockfile.Options{GateWait: forever})
	noError(t, err)
	expect(t, inside, "leave", "ok")
	noError(t, lock.Release())
	expect(t, inside, "gate", "ok")
	_, err = lockfile.TryAcquire(state, lockfile.Options{GateWait: forever, FreshToken: true})
	wantError(t, err, lockfile.ErrBusy)
	wantError(t, err, lockfile.ErrGateBusy)
	expect(t, inside, "leave", "ok")
	if in := inspect(t, state); in.Verdict != identity.Free {
		t.Errorf("after a refusal: %v", in.Finding)
	}
	noLeftovers(t, state)
}
