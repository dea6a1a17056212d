package lockfile_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// Options that mean nothing are refused before anything is touched, with the name of the field and
// its value.
func TestOptionsRefused(t *testing.T) {
	state := newState(t)
	for _, c := range []struct {
		opts  lockfile.Options
		parts []string
	}{
		{lockfile.Options{Label: strings.Repeat("ä", 201)}, []string{"Options.Label", "201", "200"}},
		{lockfile.Options{Label: "two\nlines"}, []string{"Options.Label", `"two\nlines"`, `'\n'`}},
		{lockfile.Options{Label: "esc \x1b[2J"}, []string{"Options.Label", `\x1b`}},
		{lockfile.Options{Label: "c1 \u009b"}, []string{"Options.Label", `\u009b`}},
		{lockfile.Options{Label: "bad \xff"}, []string{"Options.Label", `\xff`, "UTF-8"}},
		{lockfile.Options{Mode: 0o400}, []string{"Options.Mode", "0400"}},
		{lockfile.Options{Mode: 0o066}, []string{"Options.Mode", "066"}},
		{lockfile.Options{Mode: os.ModeSetuid | 0o600}, []string{"Options.Mode"}},
		{lockfile.Options{GateWait: -time.Second}, []string{"Options.GateWait", "-1s"}},
		{lockfile.Options{Recovery: 2}, []string{"Options.Recovery", "2"}},
		{lockfile.Options{Recovery: -1}, []string{"Options.Recovery", "-1"}},
		{lockfile.Options{SharedFilesystem: 7}, []string{"Options.SharedFilesystem", "7"}},
		{lockfile.Options{Durability: 3}, []string{"Options.Durability", "3"}},
	} {
		_, errTry := lockfile.TryAcquire(state, c.opts)
		_, errAcquire := lockfile.Acquire(always, state, c.opts)
		_, errInspect := lockfile.Inspect(state, c.opts)
		_, errRecover := lockfile.Recover(always, state, c.opts)
		_, errBreak := lockfile.Break(always, state, lockfile.BreakRequest{Reason: "x"}, c.opts)
		for _, err := range []error{errTry, errAcquire, errInspect, errRecover, errBreak} {
			if err == nil {
				t.Fatalf("%+v was accepted", c.opts)
			}
			wantText(t, err.Error(), append(c.parts, state)...)
		}
	}
	if names, err := os.ReadDir(strings.TrimSuffix(state, "state")); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// What a holder says about itself is there for everybody who looks.
func TestLabelAndTime(t *testing.T) {
	state := newState(t)
	label := strings.Repeat("ä", 197) + `"\<`
	until := time.Date(2031, 2, 3, 4, 5, 6, 7e6, time.FixedZone("", 3600))
	lock := tryAcquire(t, state, lockfile.Options{Label: label, ExpectedUntil: until})
	in := inspect(t, state)
	if in.Owner.Label != label || !in.Owner.ExpectedUntil.Equal(until) ||
		in.Owner.PID != os.Getpid() {
		t.Errorf("%+v", in.Owner)
	}
	if size := in.Bytes; size <= 0 || size >= 2048 {
		t.Errorf("the record has %d bytes", size)
	}
	noError(t, lock.Release())
	// The longest label of all: four bytes a character.
	lock = tryAcquire(t, state, lockfile.Options{Label: strings.Repeat("𝄞", 200)})
	if in := inspect(t, state); in.Bytes >= 2048 || in.Owner.Label != strings.Repeat("𝄞", 200) {
		t.Errorf("the record has %d bytes, the label is %q", in.Bytes, in.Owner.Label)
	}
	noError(t, lock.Release())
}

// Recovery can be switched off for one call, or for a whole process; a person still can.
func TestRecoveryOff(t *testing.T) {
	state := newState(t)
	id, _ := abandon(t, state)
	refused := func(err error, why string) {
		t.Helper()
		busy, ok := errors.AsType[*lockfile.BusyError](err)
		if !ok || busy.Verdict != identity.Gone || busy.LockID != id {
			t.Fatalf("%v", err)
		}
		wantText(t, err.Error(), "abandoned, but not taken over", why)
	}
	never := lockfile.Options{Recovery: lockfile.RecoverNever}
	_, err := lockfile.TryAcquire(state, never)
	refused(err, "Options.Recovery")
	_, err = lockfile.Acquire(always, state, never)
	refused(err, "Options.Recovery")

	t.Setenv("PROBATE_RECOVERY", "off")
	_, err = lockfile.TryAcquire(state, lockfile.Options{})
	refused(err, "PROBATE_RECOVERY=off")
	_, err = lockfile.Recover(always, state, lockfile.Options{})
	refused(err, "PROBATE_RECOVERY=off")
	if in := inspect(t, state); in.LockID != id || in.Fence.Counter != 0 {
		t.Errorf("%v, fence %+v", in.Finding, in.Fence)
	}
	_, err = breakIt(state, lockfile.BreakRequest{LockID: id, Reason: "by hand"})
	noError(t, err)

	t.Setenv("PROBATE_RECOVERY", "on")
	abandon(t, state)
	r, err := lockfile.Recover(always, state, never) // asked for by name
	if err != nil || r == nil || r.Fence != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := lockfile.Recover(always, state, never); r != nil || err != nil {
		t.Errorf("nothing to recover, and yet %+v, %v", r, err)
	}
}

// liar is a system whose probes say that nobody exists.
type liar struct{ probe.System }

func (liar) Process(pid int) probe.Process { return probetest.Absent(pid, probe.Missing, nil) }

// Probes that contradict themselves take nothing over, and the reason is told; locking still works.
func TestProbesThatLie(t *testing.T) {
	scripted := probetest.New()
	scripted.OnProcess = liar{}.Process
	systems := map[string]probe.System{"real": liar{probe.Real()}, "scripted": scripted}
	if runtime.GOOS != "linux" {
		delete(systems, "scripted") // it is a Linux, and the record is of another system
	}
	for name, sys := range systems {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			id, _ := abandon(t, state)
			opts := lockfile.Options{System: sys}
			if in, err := lockfile.Inspect(state, opts); err != nil || in.Verdict != identity.Gone {
				t.Fatalf("%v, %v", in.Finding, err)
			}
			_, errTry := lockfile.TryAcquire(state, opts)
			_, errAcquire := lockfile.Acquire(always, state, opts)
			_, errRecover := lockfile.Recover(always, state, opts)
			for _, err := range []error{errTry, errAcquire, errRecover} {
				wantError(t, err, lockfile.ErrBusy)
				wantText(t, err.Error(), "recovery is switched off", "probes", "contradict")
			}
			if in := inspect(t, state); in.LockID != id || in.Fence.Counter != 0 {
				t.Errorf("%v, fence %+v", in.Finding, in.Fence)
			}
			// The real probes of the same process are not blamed for it.
			lock := tryAcquire(t, state, lockfile.Options{})
			noError(t, lock.Release())
			lock = tryAcquire(t, state, opts)
			noError(t, lock.WriteFile(state, nil, 0o600))
			noError(t, lock.Release())
		})
	}
}

// FreshToken gives every tenure a number of its own, on the disk before the lock is had, through
// releases, crashes and takeovers.
func TestFreshToken(t *testing.T) {
	needsProof(t)
	state := newState(t)
	fresh := lockfile.Options{FreshToken: true}
	for want := 1; want <= 3; want++ {
		lock := tryAcquire(t, state, fresh)
		if int(lock.Token()) != want || counterOf(t, state) != want ||
			inspect(t, state).Fence.Record != lock.Token() {
			t.Fatalf("token %d, fence %d, want %d", lock.Token(), counterOf(t, state), want)
		}
		noError(t, lock.WriteFile(state, nil, 0o600))
		noError(t, lock.Release())
	}
	lock := tryAcquire(t, state, lockfile.Options{}) // one that does not ask keeps the number
	if lock.Token() != 3 {
		t.Errorf("token %d", lock.Token())
	}
	noError(t, lock.Release())
	child := startActor(t, state, knobs{FreshToken: true})
	if _, token, _ := tenureOf(t, child.Ask("acquire")); token != 4 {
		t.Errorf("token %d", token)
	}
	child.Kill()
	lock = tryAcquire(t, state, fresh)
	if lock.Token() != 5 || lock.Recovered() == nil {
		t.Errorf("token %d", lock.Token())
	}
	noError(t, lock.Release())
	if lock = tryAcquire(t, state, fresh); lock.Token() != 6 {
		t.Errorf("token %d", lock.Token())
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A lock that cannot be judged is refused at once; with WaitUnknown it is waited for like a living
// owner's.
func TestWaitUnknown(t *testing.T) {
	t.Parallel()
	state := newState(t)
	noError(t, os.WriteFile(state+".lock", []byte("1234\n"), 0o600))
	waited := func(lockfile.Inspection) { t.Error("it waits") }
	_, err := lockfile.Acquire(always, state, lockfile.Options{OnWaiting: waited})
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	if !ok || busy.Verdict != identity.Unknown || busy.Cause != nil {
		t.Fatalf("%v", err)
	}
	wantText(t, err.Error(), "cannot be judged", "probate break --lock-id "+busy.LockID)

	err = inVain(t, lockfile.ErrBusy, func(ctx context.Context) error {
		_, err := lockfile.Acquire(ctx, state, lockfile.Options{WaitUnknown: true})
		return err
	})
	wantError(t, err, context.DeadlineExceeded)

	told := 0
	lock, err := lockfile.Acquire(always, state, lockfile.Options{WaitUnknown: true,
		OnWaiting: func(in lockfile.Inspection) {
			if told++; in.Verdict != identity.Unknown {
				t.Errorf("waiting for %v", in.Finding)
			}
			noError(t, os.Remove(state+".lock"))
		}})
	noError(t, err)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	noError(t, lock.Release())
}

// OnRecovered is called once, when everything is done: the hook may look, and even others commit.
func TestOnRecovered(t *testing.T) {
	state := newState(t)
	id, _ := abandon(t, state)
	var told []lockfile.Recovered
	tryAcquire(t, state, lockfile.Options{OnRecovered: func(r lockfile.Recovered) {
		told = append(told, r)
		if in := inspect(t, state); in.Verdict != identity.Alive || in.Fence.Counter != 1 {
			t.Errorf("in the hook: %v, fence %+v", in.Finding, in.Fence)
		}
		inside := startActor(t, state)
		expect(t, inside, "gate", "ok") // the gate was let go
		expect(t, inside, "leave", "ok")
	}})
	if len(told) != 1 || told[0].LockID != id || told[0].Fence != 1 || told[0].State != state ||
		told[0].Owner == nil {
		t.Fatalf("told %+v", told)
	}
}
