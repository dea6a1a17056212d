//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// park lets a child do what it is told until it comes to a step, and leaves it there. goOn lets it.
// With "|" between several steps, it is the first that comes. The steps that begin with one of
// lacking are not possible on this filesystem.
func park(
	t *testing.T,
	child *probetest.Child,
	state, verb, at string,
	lacking ...string,
) (goOn func() string) {
	t.Helper()
	k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
	child.Send(verb)
	for {
		s, ok := k.next()
		if !ok {
			t.Fatalf("%s: it never came to %q: %s", verb, at, child.Line())
		}
		if slices.ContainsFunc(
			lacking,
			func(l string) bool { return strings.HasPrefix(s.text, l) },
		) {
			k.fail(s, unix.EOPNOTSUPP)
			continue
		}
		if slices.ContainsFunc(
			strings.Split(at, "|"),
			func(a string) bool { return strings.HasPrefix(s.text, a) },
		) {
			return func() string {
				t.Helper()
				k.allow(s)
				for s, ok := k.next(); ok; s, ok = k.next() {
					k.allow(s)
				}
				t.Cleanup(k.serve())
				return child.Line()
			}
		}
		k.allow(s)
	}
}

// Everything is written, and the writer sleeps before the gate. Its lock is broken, it wakes, and
// is refused; nothing of it is left. (I2, B46)
func TestLateWriteIsRefused(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	expect(t, holder, "write early", "ok")
	// The last step before it has the gate: to open the file, if that is not open any more; else to
	// lock it, by the number that it was made with or, if it was opened again before, by its name.
	goOn := park(t, holder, state, "write late", "open state.fence|lock #|lock state.fence")
	noError(t, breakAnyway(state, id))
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	noError(t, lock.WriteFile(state, []byte("between"), 0o600))
	if said := goOn(); said != "fenced" {
		t.Errorf("the late write: %s", said)
	}
	if text := content(t, state); text != "between" {
		t.Errorf("the state is %q", text)
	}
	noError(t, lock.Check())
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A writer that is inside the gate already comes first.
func TestWriteInsideTheGateIsFirst(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	goOn := park(t, holder, state, "write text", "rename state.lock.*.tmp state")
	breaker := startActor(t, state)
	breaker.Send("break " + id)
	if said := goOn(); said != "ok" {
		t.Errorf("the write: %s", said)
	}
	breaker.Expect("ok")
	if text := content(t, state); text != "text" {
		t.Errorf("the state is %q", text)
	}
}

// Two recoverers judge one dead owner. One sleeps at every place in turn; the other comes first
// where it can, and even releases and acquires again. The sleeper takes nothing that is not dead.
// (B40)
func TestRecovererSleeps(t *testing.T) {
	for at, inside := range map[string]bool{
		"open state.lock":           false, // before it has read what it judges
		"open state.fence":          false,
		"create state.lock":         true,
		"create state.recovery.log": true,
		"write state.recovery.log":  true,
		"write state.fence":         true,
		"exchange":                  true,
		"remove":                    true,
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			deadID, _ := abandon(t, state)
			sleeper := startActor(t, state)
			goOn := park(t, sleeper, state, "try", at)
			other, err := lockfile.TryAcquire(state, lockfile.Options{})
			if inside {
				wantError(t, err, lockfile.ErrBusy)
				if id, token, recovered := tenureOf(t, goOn()); id == deadID || token != 1 ||
					!recovered {
					t.Errorf("the sleeper has %s, token %d, recovered %v", id, token, recovered)
				}
				if in := inspect(t, state); in.Verdict != identity.Alive {
					t.Errorf("%v", in.Finding)
				}
				return
			}
			noError(t, err)
			noError(t, other.Release())
			other, err = lockfile.TryAcquire(state, lockfile.Options{})
			noError(t, err)
			if said := goOn(); !strings.HasPrefix(said, "busy ") {
				t.Errorf("the sleeper: %s", said)
			}
			noError(t, other.WriteFile(state, []byte("text"), 0o600))
			if other.Token() != 1 || counterOf(t, state) != 1 {
				t.Errorf("token %d, fence %d", other.Token(), counterOf(t, state))
			}
			noError(t, other.Release())
			noLeftovers(t, state)
		})
	}
}

// An acquirer has read the counter and sleeps, while the lock changes hands by a takeover and
// becomes free again: the number that it has read is not handed out any more. (I3)
func TestCounterMovesMeanwhile(t *testing.T) {
	t.Parallel()
	state := newState(t)
	noError(t, tryAcquire(t, state, lockfile.Options{}).Release()) // makes the fence
	sleeper := startActor(t, state)
	goOn := park(t, sleeper, state, "try", "create-unnamed")
	if in := inspect(t, state); in.Verdict != identity.Free {
		t.Fatalf("%v", in.Finding)
	}
	abandon(t, state)
	expect(t, startActor(t, state), "recover", "ok")
	if _, token, recovered := tenureOf(t, goOn()); token != 1 || recovered {
		t.Errorf("token %d, recovered %v; the fence is %d", token, recovered, counterOf(t, state))
	}
	expect(t, sleeper, "write text", "ok")
	expect(t, sleeper, "release", "ok")
	noLeftovers(t, state)
}

// An empty record that nobody has open is an orphan; one that somebody opens while the recoverer
// sleeps before the gate may be about to be written.
func TestOrphanIsOpened(t *testing.T) {
	t.Parallel()
	state := newState(t)
	noError(t, tryAcquire(t, state, lockfile.Options{}).Release()) // makes the fence
	unforked(func() { noError(t, os.WriteFile(state+".lock", nil, 0o600)) })
	if in := inspect(t, state); in.Verdict != identity.Gone {
		t.Skipf("the orphan proof is not possible here: %v", in.Finding)
	}
	sleeper := startActor(t, state)
	goOn := park(t, sleeper, state, "try", "open state.fence")
	peer, err := os.OpenFile(state+".lock", os.O_RDWR, 0)
	noError(t, err)
	defer peer.Close()
	said := goOn()
	wantText(t, said, "busy", "unknown", "record-empty")
	_, err = peer.WriteString(`{"v":2}`)
	noError(t, err)
	if text := content(t, state+".lock"); text != `{"v":2}` {
		t.Errorf("the record is %q", text)
	}
}

// A temporary that is being written is not swept away.
func TestLockedIsNotSwept(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	tenureOf(t, holder.Ask("acquire"))
	goOn := park(t, holder, state, "write text", "write state.lock.*.tmp", "create-unnamed")
	if said := startActor(t, state).Ask("try"); !strings.HasPrefix(said, "busy ") {
		t.Fatal(said)
	}
	if now := leftovers(t, state); len(now) != 2 {
		t.Errorf("beside the state are %q", now)
	}
	if said := goOn(); said != "ok" {
		t.Errorf("the write: %s", said)
	}
	noLeftoversBut(t, state, "state.lock")
}

// A temporary is swept away between its creation and its kernel lock, by a process that thinks it a
// dead one's: the writer makes another, and the acquirer begins again.
func TestSweptBeforeLocked(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	tenureOf(t, holder.Ask("acquire"))
	goOn := park(t, holder, state, "write text", "lock state.lock.*.tmp", "create-unnamed")
	if odd := leftovers(t, state); len(odd) != 2 {
		t.Fatalf("beside the state are %q", odd)
	}
	if said := startActor(t, state).Ask("try"); !strings.HasPrefix(said, "busy ") {
		t.Fatal(said)
	}
	if odd := leftovers(t, state); len(odd) != 1 {
		t.Fatalf("not swept: %q", odd)
	}
	if said := goOn(); said != "ok" {
		t.Errorf("the write: %s", said)
	}
	if text := content(t, state); text != "text" {
		t.Errorf("the state is %q", text)
	}
	holder.Kill()
	expect(t, startActor(t, state), "recover", "ok")

	acquirer := startActor(t, state)
	goOn = park(t, acquirer, state, "acquire", "lock state.lock.*.tmp", "create-unnamed")
	sweeper := startActor(t, state)
	tenureOf(t, sweeper.Ask("try"))
	expect(t, sweeper, "release", "ok")
	if odd := leftovers(t, state); len(odd) != 0 {
		t.Fatalf("not swept: %q", odd)
	}
	tenureOf(t, goOn())
	noLeftoversBut(t, state, "state.lock")
}
