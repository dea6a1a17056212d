package lockfile_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
)

// What fails once is said, is no loss, and can be done again.
func TestFailedStepsAreNoLoss(t *testing.T) {
	state := newState(t)
	var f faults
	lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	for what, c := range map[string]struct {
		fails string
		do    func() error
	}{
		"check":   {"look-at state.lock", lock.Check},
		"write":   {"look-at state.lock", func() error { return lock.WriteFile(state, nil, 0o600) }},
		"release": {"remove state.lock", lock.Release},
	} {
		f.set(failing(map[string]syscall.Errno{c.fails: syscall.EIO}))
		if err := c.do(); !errors.Is(err, syscall.EIO) || errors.Is(err, lockfile.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
		f.set(nil)
		if err := lock.Check(); err != nil {
			t.Errorf("after a %s that failed: %v", what, err)
		}
		in, err := lockfile.Inspect(state, lockfile.Options{})
		noError(t, err)
		if in.Verdict != identity.Alive || in.LockID != lock.ID() {
			t.Errorf("after a %s that failed: %v", what, in.Finding)
		}
	}
	noError(t, lock.WriteFile(state, []byte("x"), 0o600))
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// An acquire that fails after its record has its name takes it back: it would read as alive as long
// as the process lives.
func TestFailedAcquireIsWithdrawn(t *testing.T) {
	flushFirst := lockfile.Options{Durability: lockfile.FlushFirst}
	for name, c := range map[string]struct {
		opts lockfile.Options
		dead bool
		then string // what fails once S.lock is the new record
	}{
		"fresh token": {lockfile.Options{FreshToken: true}, false, "write state.fence"},
		"flushed":     {flushFirst, false, "flush-dir"},
		"taken over":  {flushFirst, true, "flush-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			noError(t, tryAcquire(t, state, lockfile.Options{}).Release())
			if c.dead {
				abandon(t, state)
			}
			f, published, failed := &faults{}, false, false
			f.set(func(op faultfs.Op) faultfs.Action {
				what := strings.TrimSpace(op.Verb + " " + op.Name)
				if published && !failed && what == c.then {
					failed = true
					return faultfs.Action{Err: syscall.EIO}
				}
				published = published || op.Verb == "exchange" ||
					op.Verb == "link-unnamed" && op.Name == "state.lock" && !c.dead
				return faultfs.Action{}
			})
			lock, err := lockfile.TryAcquire(state, lockfile.WithFiles(c.opts, f.files()))
			if lock != nil || !errors.Is(err, syscall.EIO) || !failed {
				t.Fatalf("%v, %v, failed %v: %q", lock, err, failed, f.ops())
			}
			if _, err := os.Lstat(state + ".lock"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the record stays: %v: %q", err, f.ops())
			}
			noError(t, tryAcquire(t, state, lockfile.Options{}).Release())
			noLeftovers(t, state)
		})
	}
}

// A waiter has its record ready before the lock is free. Its number is compared with the log first,
// as that of anybody who uses the lock for the first time.
func TestFencePutBackBesideAWaiter(t *testing.T) {
	state := newState(t)
	for range 3 {
		abandon(t, state)
	}
	expect(t, startActor(t, state), "recover", "ok") // 3
	owner := startActor(t, state)
	tenureOf(t, owner.Ask("acquire"))
	noError(t, os.WriteFile(state+".fence", []byte("1\n"), 0o600))
	lockfile.ForgetFences()
	ready, told := make(chan struct{}), false
	f := &faults{}
	f.set(func(op faultfs.Op) faultfs.Action {
		if !told && (op.Verb == "create-unnamed" || op.Name == "state.recovery.log") {
			told = true
			close(ready)
		}
		return faultfs.Action{}
	})
	acquired := make(chan *lockfile.Lock)
	go func() {
		lock, err := lockfile.Acquire(t.Context(), state,
			lockfile.WithFiles(lockfile.Options{}, f.files()))
		if err != nil {
			t.Error(err)
		}
		acquired <- lock
	}()
	<-ready
	expect(t, owner, "release", "ok")
	lock := <-acquired
	if lock == nil {
		return
	}
	if lock.Token() != 3 || counterOf(t, state) != 3 {
		t.Errorf("token %d, counter %d, after 3 was handed out", lock.Token(), counterOf(t, state))
	}
	noError(t, lock.Release())
}

// A break while the holder looks, between the counter and the record, is a break: it is fenced.
func TestBrokenWhileLookedAt(t *testing.T) {
	state := newState(t)
	var f faults
	lock := tryAcquire(t, state, lockfile.WithFiles(lockfile.Options{}, f.files()))
	var broken error
	f.set(func(op faultfs.Op) faultfs.Action {
		if op.Verb != "look-at" || op.Name != "state.lock" {
			return faultfs.Action{}
		}
		return faultfs.Action{Do: func() {
			f.set(nil)
			broken = breakAnyway(state, lock.ID())
		}}
	})
	wantError(t, lock.Check(), lockfile.ErrFenced)
	noError(t, broken)
	wantError(t, lock.Release(), lockfile.ErrFenced)
	noLeftovers(t, state)
}
