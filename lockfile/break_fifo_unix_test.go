//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package lockfile_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// A FIFO at the lock's path holds nobody up, and is moved away.
func TestBreakFIFO(t *testing.T) {
	state := newState(t)
	noError(t, syscall.Mkfifo(state+".lock", 0o600))
	in := inspect(t, state)
	if in.Verdict != identity.Unknown || in.Reason != identity.RecordNotRegular {
		t.Fatalf("%v", in.Finding)
	}
	broken, err := breakIt(state, lockfile.BreakRequest{LockID: in.LockID, Reason: "in the way"})
	noError(t, err)
	if info, err := os.Lstat(broken.Saved); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("saved is %v, %v", info, err)
	}
	lock := tryAcquire(t, state, lockfile.Options{})
	noError(t, lock.Release())
}
