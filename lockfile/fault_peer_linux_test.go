//go:build amd64 || arm64

package lockfile_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	if f.ops().index("test-alone state.lock") < 0 {
		t.Fatalf("the kernel was not asked: %q", f.ops())
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

// A record that goes away while it is looked at, or gives way to a living owner's, is not judged
// any more: that its kernel lock is free by then says nothing.
func TestRecordGoesWhileLookedAt(t *testing.T) {
	for want, instead := range map[identity.Verdict]func(state, theirs string) error{
		identity.Free: func(state, _ string) error { return os.Remove(state + ".lock") },
		identity.Alive: func(state, theirs string) error {
			return replace(state+".lock", theirs)
		},
	} {
		t.Run(want.String(), func(t *testing.T) {
			state := newState(t)
			lock := tryAcquire(t, state, lockfile.Options{})
			theirs := theirs(t, state) // of the running test, with its own start
			noError(t, lock.Release())
			abandon(t, state)
			f, once := &faults{}, false
			f.set(func(op faultfs.Op) faultfs.Action {
				if op.Verb != "test-lock" || once {
					return faultfs.Action{}
				}
				once = true
				return faultfs.Action{Do: func() { noError(t, instead(state, theirs)) }}
			})
			in, err := lockfile.Inspect(state, lockfile.WithFiles(lockfile.Options{}, f.files()))
			noError(t, err)
			if in.Verdict != want || !once {
				t.Errorf("%v, want %v", in.Finding, want)
			}
		})
	}
}

// Peers that ignore the gate take records away and make their own between any two steps of a
// takeover. Whatever comes of it, nobody holds the lock then, and no record of theirs is destroyed.
func TestPeersBetweenTheStepsOfATakeover(t *testing.T) {
	type steps map[int]func(lock, one, two string) error
	first := func(lock, one, _ string) error { return replace(lock, one) }
	second := func(lock, _, two string) error { return replace(lock, two) }
	for name, c := range map[string]struct {
		do    steps // before the renames and exchanges that concern S.lock, by their number
		fails map[int]syscall.Errno
		want  int // how many of the two records there are
	}{
		"written over in place": {do: steps{1: func(lock, one, _ string) error {
			return os.WriteFile(lock, []byte(one), 0o600)
		}}, want: 1},
		"one before the exchange, one before it is undone": {
			do: steps{1: first, 2: second}, want: 2},
		"the same, and it cannot be undone": {do: steps{1: first, 2: second},
			fails: map[int]syscall.Errno{2: syscall.EIO}, want: 2},
		"no exchange, and the name is taken when it is given back": {
			do:    steps{2: first, 3: second},
			fails: map[int]syscall.Errno{1: syscall.EINVAL}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			abandon(t, state)
			one := theirs(t, state)
			two := strings.Replace(one, strings.Repeat("ab", 24), strings.Repeat("cd", 24), 1)
			f, n := &faults{}, 0
			f.set(func(op faultfs.Op) faultfs.Action {
				if op.Verb != "exchange" && !strings.HasPrefix(op.Verb, "rename") ||
					op.Name != "state.lock" && op.To != "state.lock" {
					return faultfs.Action{}
				}
				n++
				act := faultfs.Action{}
				if do := c.do[n]; do != nil {
					act.Do = func() { noError(t, do(state+".lock", one, two)) }
				}
				if errno, is := c.fails[n]; is {
					act.Err = errno
				}
				return act
			})
			lock, err := lockfile.TryAcquire(state,
				lockfile.WithFiles(lockfile.Options{}, f.files()))
			if err == nil {
				t.Fatalf("acquired, with number %d", lock.Token())
			}
			found := map[string]bool{}
			entries, err := os.ReadDir(filepath.Dir(state))
			noError(t, err)
			for _, e := range entries {
				text := content(t, filepath.Join(filepath.Dir(state), e.Name()))
				if text == one || text == two {
					found[text] = true
				}
			}
			if len(found) != c.want {
				t.Errorf("%d of %d records are left: %q", len(found), c.want, f.ops())
			}
			if now := content(t, state+".lock"); now != one && now != two {
				t.Errorf("at the lock's place is %s", now)
			}
		})
	}
}
