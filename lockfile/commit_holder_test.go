package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// A fork and a copy that was restored from a checkpoint have the memory of the process that
// acquired a lock. They neither write under it nor release it, and it stays the holder's.
func TestOnlyTheHolderUsesTheLock(t *testing.T) {
	sys := probetest.New()
	me := sys.Self()
	copied := me
	copied.Start = probe.Known(probe.Ticks(99_999), "/proc")
	for name, becomes := range map[string]struct {
		another, itself func(l *lockfile.Lock)
	}{
		"another number": {
			func(l *lockfile.Lock) { lockfile.AcquiredBy(l, os.Getpid()+1) },
			func(l *lockfile.Lock) { lockfile.AcquiredBy(l, os.Getpid()) },
		},
		"another start": {
			func(*lockfile.Lock) {
				sys.Change(func(s *probetest.System) { s.SelfProcess = copied })
			},
			func(*lockfile.Lock) {
				sys.Change(func(s *probetest.System) { s.SelfProcess = me })
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			opts := lockfile.Options{System: sys}
			lock := tryAcquire(t, state, opts)
			noError(t, lock.WriteFile(state, []byte("the holder's"), 0o600))
			becomes.another(lock)
			for what, err := range map[string]error{
				"check":  lock.Check(),
				"commit": lock.Commit(context.Background(), func() error { panic("it commits") }),
				"write":  lock.WriteFile(state, []byte("the copy's"), 0o600),
				"keep": lock.WriteFileKeeping(state, "old", []byte("the copy's"),
					0o600),
				"release": lock.Release(),
			} {
				if !errors.Is(err, lockfile.ErrNotHolder) || errors.Is(err, lockfile.ErrLost) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if text := content(t, state); text != "the holder's" {
				t.Errorf("the state is %q", text)
			}
			in, err := lockfile.Inspect(state, opts)
			noError(t, err)
			if in.Verdict != identity.Alive || in.LockID != lock.ID() {
				t.Errorf("a copy of the holder has changed the lock: %v, %s", in.Finding, in.LockID)
			}
			becomes.itself(lock)
			noError(t, lock.WriteFile(state, []byte("the holder's again"), 0o600))
			noError(t, lock.Release())
			noLeftovers(t, state)
		})
	}
}
