package lockfile_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// The main job, on real processes: a holder is killed, proven gone, taken over, and fenced.
func TestTakeover(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	child := probetest.Start(t, "holder", state)
	if got := child.Line(); got[:4] != "held" {
		t.Fatal(got)
	}
	if _, err := lockfile.TryAcquire(state, lockfile.Options{}); !errors.Is(err, lockfile.ErrBusy) {
		t.Fatalf("while the holder lives: %v, want ErrBusy", err)
	}
	child.Kill()
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err != nil || in.Verdict != identity.Gone || !isDead(in.Reason) {
		t.Fatalf("after the kill: %v, %v", in, err)
	}
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if lock.Token() != 1 || lock.Recovered() == nil || lock.Recovered().LockID != in.LockID {
		t.Errorf("token %d, recovered %+v", lock.Token(), lock.Recovered())
	}
}
