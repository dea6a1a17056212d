package lockfile_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
)

type loss struct {
	lose   func(t *testing.T, state, id string) (cleanUp func())
	fenced bool
	byName bool   // by somebody who renames or removes the record
	breach string // what OnBreach must mention, "" when it must not be called
}

// losses are ways to lose a lock, with what the holder is told.
var losses = map[string]loss{
	"broken": {fenced: true, lose: func(t *testing.T, state, id string) func() {
		noError(t, breakAnyway(state, id))
		return nil
	}},
	"broken and taken": {fenced: true, lose: func(t *testing.T, state, id string) func() {
		noError(t, breakAnyway(state, id))
		other := startActor(t, state)
		tenureOf(t, other.Ask("acquire"))
		return func() {
			expect(t, other, "check", "ok") // it was not touched
			expect(t, other, "release", "ok")
		}
	}},
	"removed by hand": {byName: true, lose: func(t *testing.T, state, id string) func() {
		noError(t, os.Remove(state+".lock"))
		return nil
	}},
	"removed by hand and taken": {byName: true, lose: func(t *testing.T, state, id string) func() {
		noError(t, os.Remove(state+".lock"))
		other := startActor(t, state)
		tenureOf(t, other.Ask("acquire"))
		return func() {
			expect(t, other, "check", "ok")
			expect(t, other, "release", "ok")
		}
	}},
	"taken aside by a peer": {
		byName: true,
		breach: ".lock.recovering.",
		lose: func(t *testing.T, state, id string) func() {
			aside := state + ".lock.recovering.00112233445566ff"
			noError(t, os.Rename(state+".lock", aside))
			return func() {
				if _, err := os.Stat(aside); err != nil {
					t.Errorf("what the peer has taken aside was touched: %v", err)
				}
				noError(t, os.Remove(aside))
			}
		},
	},
	"recovered by a peer": {
		byName: true,
		breach: ".recovered-",
		lose: func(t *testing.T, state, id string) func() {
			marker := state + ".recovered-" + leaseOf(t, state)[:24]
			noError(t, os.WriteFile(marker, nil, 0o600))
			noError(t, os.Remove(state+".lock"))
			return func() {
				if _, err := os.Stat(marker); err != nil {
					t.Errorf("the peer's marker was touched: %v", err)
				}
			}
		},
	},
	// It took the wrong file, and made the lock again from what it had read.
	"put back by a peer": {byName: true, lose: func(t *testing.T, state, id string) func() {
		noError(t, replace(state+".lock", content(t, state+".lock")))
		return func() {
			if _, err := os.Stat(state + ".lock"); err == nil {
				t.Error("the copy, which nobody else may remove, is still there")
			}
		}
	}},
	"overwritten in place": {lose: func(t *testing.T, state, id string) func() {
		other := strings.Replace(content(t, state+".lock"), `"v":2`, `"v":3`, 1)
		noError(t, writeShared(state+".lock", []byte(other)))
		return func() {
			if text := content(t, state+".lock"); !strings.HasPrefix(text, `{"v":3`) {
				t.Errorf("somebody else's record became %q", text)
			}
			noError(t, os.Remove(state+".lock"))
		}
	}},
}

// lossesHere are those that can happen on this system.
func lossesHere() map[string]loss {
	here := maps.Clone(losses)
	maps.DeleteFunc(here, func(_ string, l loss) bool { return l.byName && vfs.OwnerKeeps() })
	return here
}

func leaseOf(t testing.TB, state string) string {
	t.Helper()
	_, rest, ok := strings.Cut(content(t, state+".lock"), `"lease":"`)
	if !ok || len(rest) < 48 {
		t.Fatal("no lease in the record")
	}
	return rest[:48]
}

// Whoever loses its lock, however, commits nothing any more, is told once, and gives back cleanly.
func TestLost(t *testing.T) {
	for name, c := range lossesHere() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			breaches, told := make(chan string, 8), make(chan error, 8)
			lock := tryAcquire(t, state, lockfile.Options{
				OnLost: func(err error) { told <- err },
				OnBreach: func(b lockfile.Breach) {
					if b.State != state {
						t.Errorf("a breach of %s", b.State)
					}
					breaches <- b.What
				},
			})
			noError(t, lock.WriteFile(state, []byte("before"), 0o600))
			ctx := lock.Context()
			cleanUp := c.lose(t, state, lock.ID())

			isLost := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, lockfile.ErrLost) ||
					errors.Is(err, lockfile.ErrFenced) != c.fenced ||
					errors.Is(err, lockfile.ErrUnsure) ||
					errors.Is(err, lockfile.ErrReleased) {
					t.Errorf("%s: %v", what, err)
				}
				wantText(t, err.Error(), state)
			}
			isLost(
				"Commit",
				lock.Commit(always, func() error { t.Error("run after the loss"); return nil }),
			)
			isLost("WriteFile", lock.WriteFile(state, []byte("after"), 0o600))
			isLost("Check", lock.Check())
			<-ctx.Done()
			isLost("Context", context.Cause(ctx))
			isLost("OnLost", <-told)
			isLost("Release", lock.Release())
			wantError(t, lock.Release(), lockfile.ErrReleased)
			isLost("Context after Release", context.Cause(ctx))
			if text := content(t, state); text != "before" {
				t.Errorf("the state is %q", text)
			}
			select {
			case err := <-told:
				t.Errorf("told twice: %v", err)
			default:
			}
			if c.breach != "" {
				wantText(t, <-breaches, c.breach, "record-v2")
			}
			select {
			case what := <-breaches:
				t.Errorf("another breach: %s", what)
			default:
			}
			if cleanUp != nil {
				cleanUp()
			}
			noLeftovers(t, state)
			next := tryAcquire(t, state, lockfile.Options{})
			noError(t, next.WriteFile(state, []byte("next"), 0o600))
			noError(t, next.Release())
		})
	}
}

// The loss is noticed without a call, while somebody has the context or a hook.
func TestLossIsNoticed(t *testing.T) {
	for name, c := range lossesHere() {
		for _, by := range []string{"context", "hook"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				state := newState(t)
				told := make(chan error, 1)
				opts := lockfile.Options{OnLost: func(err error) { told <- err }}
				if by == "context" {
					opts.OnLost = nil
				}
				lock := tryAcquire(t, state, opts)
				if by == "context" {
					context.AfterFunc(
						lock.Context(),
						func() { told <- context.Cause(lock.Context()) },
					)
				}
				cleanUp := c.lose(t, state, lock.ID())
				if err := <-told; !errors.Is(err, lockfile.ErrLost) ||
					errors.Is(err, lockfile.ErrFenced) != c.fenced {
					t.Errorf("told of %v", err)
				}
				wantError(t, lock.Release(), lockfile.ErrLost)
				if cleanUp != nil {
					cleanUp()
				}
			})
		}
	}
}

// The record is taken away while the commit is under way, as a peer that ignores the gate can: what
// was written stands, and the caller is told that it is not sure of it.
func TestLostDuringCommit(t *testing.T) {
	for name, c := range lossesHere() {
		if c.fenced { // nobody who uses the gate can do that
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			lock := tryAcquire(t, state, lockfile.Options{})
			noError(t, lock.Commit(always, func() error { return replace(state, "before") }))
			var cleanUp func()
			err := lock.Commit(always, func() error {
				cleanUp = c.lose(t, state, lock.ID())
				return replace(state, "during")
			})
			wantError(t, err, lockfile.ErrUnsure)
			wantText(t, err.Error(), state, "unsure")
			if text := content(t, state); text != "during" {
				t.Errorf("the state is %q", text)
			}
			wantError(t, lock.Check(), lockfile.ErrLost)
			err = lock.Commit(always, func() error { t.Error("run after the loss"); return nil })
			if !errors.Is(err, lockfile.ErrLost) || errors.Is(err, lockfile.ErrUnsure) {
				t.Errorf("the next commit: %v", err)
			}
			wantError(t, lock.Release(), lockfile.ErrLost)
			if cleanUp != nil {
				cleanUp()
			}
			noLeftovers(t, state)
		})
	}
}

// A copy of a record of ours that is restored later is an orphan: its kernel lock is nobody's, and
// its process is gone.
func TestRestoredCopy(t *testing.T) {
	needsProof(t)
	state := newState(t)
	child := startActor(t, state)
	id, _, _ := tenureOf(t, child.Ask("acquire"))
	copied := content(t, state+".lock")
	noError(t, os.WriteFile(filepath.Join(filepath.Dir(state), "backup"), []byte(copied), 0o600))
	expect(t, child, "release", "ok")
	noError(t, os.WriteFile(state+".lock", []byte(copied), 0o600))
	if in := inspect(t, state); in.LockID != id || in.Verdict != identity.Alive {
		t.Errorf("while its process runs: %v", in.Finding)
	}
	child.Kill()
	if in := inspect(t, state); in.Verdict != identity.Gone || !isDead(in.Reason) {
		t.Errorf("when its process is gone: %v", in.Finding)
	}
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.Token() != 1 {
		t.Errorf("token %d", lock.Token())
	}
}
