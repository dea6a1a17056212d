package lockfile_test

import (
	"fmt"
	"strconv"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	verbs["handle"] = func(s *script, _ string) string { return fmt.Sprint(s.lock.Handle()) }
}

// inheritFrom gives this process the handle of the owner's record, as a command below it gets it:
// one more handle of the same open file.
func inheritFrom(t *testing.T, owner *probetest.Child) (end func()) {
	t.Helper()
	value, err := strconv.ParseUint(owner.Ask("handle"), 10, 64)
	noError(t, err)
	process, err := windows.OpenProcess(windows.PROCESS_DUP_HANDLE, false, uint32(owner.PID()))
	noError(t, err)
	defer windows.CloseHandle(process)
	var h windows.Handle
	noError(t, windows.DuplicateHandle(process, windows.Handle(value), windows.CurrentProcess(), &h,
		0, false, windows.DUPLICATE_SAME_ACCESS))
	return func() { windows.CloseHandle(h) }
}

// What inherited the handle keeps the lock alive when its owner is killed, until it ends.
func TestHeirKeepsTheLock(t *testing.T) {
	state := newState(t)
	owner := startActor(t, state)
	id, _, _ := tenureOf(t, owner.Ask("acquire"))
	end := inheritFrom(t, owner)
	owner.Kill()
	in := inspect(t, state)
	if in.Verdict != identity.Alive || in.Reason != identity.KernelLockHeld || in.LockID != id {
		t.Errorf("while an heir lives: %v", in.Finding)
	}
	_, err := lockfile.TryAcquire(state, lockfile.Options{})
	wantError(t, err, lockfile.ErrBusy)
	_, err = lockfile.Recover(always, state, lockfile.Options{})
	wantError(t, err, lockfile.ErrBusy)
	end()
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.Recovered() == nil || lock.Recovered().LockID != id || lock.Token() != 1 {
		t.Errorf("token %d, recovered %+v", lock.Token(), lock.Recovered())
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A release frees the lock at once, whatever inherited the handle.
func TestReleaseWithHeirs(t *testing.T) {
	state := newState(t)
	owner := startActor(t, state)
	tenureOf(t, owner.Ask("acquire"))
	end := inheritFrom(t, owner)
	expect(t, owner, "release", "ok")
	if in := inspect(t, state); in.Verdict != identity.Free {
		t.Fatalf("after the release: %v", in.Finding)
	}
	for range 2 {
		lock := tryAcquire(t, state, lockfile.Options{})
		if lock.Recovered() != nil || lock.Token() != 0 {
			t.Errorf("token %d, recovered %+v", lock.Token(), lock.Recovered())
		}
		noError(t, lock.WriteFile(state, []byte("text"), 0o600))
		noError(t, lock.Release())
	}
	// And so does a takeover's sweep, which leaves alone what is open.
	abandon(t, state)
	lock := tryAcquire(t, state, lockfile.Options{})
	noError(t, lock.Release())
	end()
	noLeftovers(t, state)
}
