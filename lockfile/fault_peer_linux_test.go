//go:build amd64 || arm64

package lockfile_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
)

// A torn record that gives way to another one while it is looked at: what is said is about that.
func TestTornRecordIsReplaced(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	theirs := theirs(t, state) // of the running test
	noError(t, lock.Release())
	noError(t, os.WriteFile(state+".lock", nil, 0o600))
	f := &faults{}
	f.set(func(op faultfs.Op) faultfs.Action {
		if op.Verb != "test-alone" {
			return faultfs.Action{}
		}
		return faultfs.Action{Do: func() { noError(t, replace(state+".lock", theirs)) }}
	})
	in, err := lockfile.Inspect(state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	noError(t, err)
	if !slices.Contains(f.done, "test-alone state.lock") {
		t.Fatalf("the kernel was not asked: %q", f.done)
	}
	if in.Verdict == identity.Gone || in.Owner == nil || in.Owner.PID != os.Getpid() {
		t.Errorf("%v, owner %+v", in.Finding, in.Owner)
	}
}

// A peer that creates its record and writes it later is waited for: not knowing who holds the lock
// may be due to that moment.
func TestRecordIsBeingWritten(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	theirs := theirs(t, state) // of the running test
	noError(t, lock.Release())
	open, err := os.Create(state + ".lock")
	noError(t, err)
	defer open.Close()
	f, looks := &faults{}, 0
	f.set(func(op faultfs.Op) faultfs.Action {
		if op.Verb == "open" && op.Name == "state.lock" {
			looks++
		}
		if looks < 6 { // a look at what is torn opens it more than once
			return faultfs.Action{}
		}
		return faultfs.Action{Do: func() {
			if _, err := open.WriteAt([]byte(theirs), 0); err != nil {
				t.Error(err)
			}
		}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told lockfile.Inspection
	opts := lockfile.Options{OnWaiting: func(in lockfile.Inspection) {
		told = in
		cancel()
	}}
	_, err = lockfile.Acquire(ctx, state, lockfile.WithFiles(opts, f.files()))
	wantError(t, err, context.Canceled)
	if told.Verdict != identity.Alive || told.Owner == nil || told.Owner.PID != os.Getpid() {
		t.Errorf("waited for %v, owner %+v, and then: %v", told.Finding, told.Owner, err)
	}
}
