package lockfile_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// The fence is deleted under a holder: it still holds, and its next commit makes the fence anew.
func TestFenceDeletedWhileHeld(t *testing.T) {
	notOnWine(t, "a removed file that is open keeps its name")
	t.Parallel()
	state := newState(t)
	abandon(t, state)
	said, logger := told()
	lock, err := lockfile.TryAcquire(state, lockfile.Options{Logger: logger}) // 1
	noError(t, err)
	noError(t, os.Remove(state+".fence"))
	noError(t, lock.Check())
	if _, err := os.Stat(state + ".fence"); err == nil {
		t.Error("looking made a fence")
	}
	noError(t, lock.WriteFile(state, []byte("text"), 0o600))
	if now := counterOf(t, state); now != 1 {
		t.Errorf("the fence is %d", now)
	}
	wantText(t, said.String(), "fence repaired", "missing", "now=1")

	// And once more, with the release next.
	noError(t, os.Remove(state+".fence"))
	noError(t, lock.Release())
	if now := counterOf(t, state); now != 1 {
		t.Errorf("the fence is %d", now)
	}
	noLeftovers(t, state)
}

// A first holder has nothing but its record to know its number from.
func TestFenceDeletedWhileFreshTokenIsHeld(t *testing.T) {
	notOnWine(t, "a removed file that is open keeps its name")
	t.Parallel()
	state := newState(t)
	for want := 1; want <= 3; want++ {
		lock, err := lockfile.TryAcquire(state, lockfile.Options{FreshToken: true})
		noError(t, err)
		if int(lock.Token()) != want {
			t.Fatalf("token %d, want %d", lock.Token(), want)
		}
		noError(t, os.Remove(state+".fence"))
		noError(t, lock.WriteFile(state, []byte("text"), 0o600))
		if now := counterOf(t, state); now != want {
			t.Errorf("the fence is %d, want %d", now, want)
		}
		noError(t, lock.Release())
	}
}

// A fence that goes back under a holder is put right if the holder knows better, and a reason to
// refuse if it cannot. Whatever a person does to it, the next takeover goes on from the largest
// number.
func TestFenceLoweredWhileHeld(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]bool{"it was in the gate": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			abandon(t, state)
			abandon(t, state)
			expect(t, startActor(t, state), "recover", "ok") // 2
			holder := startActor(t, state)
			tenureOf(t, holder.Ask("acquire"))
			if knows {
				expect(t, holder, "write first", "ok")
			}
			noError(t, os.WriteFile(state+".fence", []byte("1\n"), 0o600))
			switch said := holder.Ask("write second"); {
			case said == "ok" && content(t, state) == "second" && counterOf(t, state) == 2:
			case said == "fenced" && !knows:
				if _, err := os.Stat(state); err == nil {
					t.Error("refused, and yet there is a state")
				}
			default:
				t.Errorf("%s; the fence is %d", said, counterOf(t, state))
			}
			holder.Kill()
			in := inspect(t, state)
			if in.Fence.Record > in.Fence.Counter && len(in.Notes) == 0 {
				t.Errorf("fence %+v, and no note", in.Fence)
			}
			want, dead := 3, true
			if in.Verdict == identity.Free && !knows && runtime.GOOS == "windows" {
				// Who was refused gave its record up: nobody else could remove it.
				want, dead = 2, false
			}
			child := startActor(t, state)
			_, token, recovered := tenureOf(t, child.Ask("acquire"))
			if token != want || recovered != dead {
				t.Errorf("token %d, recovered %v; 2 was handed out", token, recovered)
			}
		})
	}
}

// A fence that somebody raised by hand fences the holder; put back, it is not believed again.
func TestFenceRaisedWhileHeld(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	tenureOf(t, holder.Ask("acquire"))
	expect(t, holder, "write first", "ok")
	noError(t, os.WriteFile(state+".fence", []byte("7\n"), 0o600))
	expect(t, holder, "write second", "fenced")
	noError(t, os.WriteFile(state+".fence", []byte("0\n"), 0o600))
	expect(t, holder, "write third", "fenced") // lost is lost
	expect(t, holder, "check", "fenced")
	if text := content(t, state); text != "first" {
		t.Errorf("the state is %q", text)
	}
	expect(t, holder, "release", "fenced")
	noLeftovers(t, state)
}
