package lockfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// told collects what a lock tells its Logger.
func told() (*bytes.Buffer, *slog.Logger) {
	var b bytes.Buffer
	return &b, slog.New(slog.NewTextHandler(&b, nil))
}

// The fence is deleted, damaged or put back between two tenures: the next one goes on from the
// largest number in log and record, and says so. (I3)
func TestFenceRepaired(t *testing.T) {
	put := func(text string) func(fence string) error {
		return func(fence string) error { return os.WriteFile(fence, []byte(text), 0o600) }
	}
	for name, c := range map[string]struct {
		damage func(fence string) error
		was    string
	}{
		"deleted":       {os.Remove, "missing"},
		"empty":         {func(f string) error { return os.Truncate(f, 0) }, "empty"},
		"garbage":       {put("xyz"), "xyz"},
		"torn":          {func(f string) error { return os.Truncate(f, 9) }, "000000000"},
		"NUL":           {put(strings.Repeat("\x00", 21)), `\x00`},
		"more than all": {put("9007199254740992\n"), "9007199254740992"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "deleted" {
				notOnWine(t, "a removed file that is open keeps its name")
			}
			state := newState(t)
			abandon(t, state)
			expect(t, startActor(t, state), "recover", "ok") // 1
			abandon(t, state)
			noError(t, c.damage(state+".fence"))

			// The record knows 1, and so does the log: the takeover of it is 2.
			said, logger := told()
			lock, err := lockfile.TryAcquire(state, lockfile.Options{Logger: logger})
			noError(t, err)
			if lock.Token() != 2 || counterOf(t, state) != 2 {
				t.Errorf("token %d, counter %d, want 2", lock.Token(), counterOf(t, state))
			}
			wantText(t, said.String(), "fence repaired", state+".fence", c.was, "now=1")
			noError(t, lock.Release())

			// Free, so that only the log knows: 2 goes on.
			noError(t, c.damage(state+".fence"))
			said.Reset()
			lock, err = lockfile.TryAcquire(state, lockfile.Options{Logger: logger})
			noError(t, err)
			if lock.Token() != 2 || counterOf(t, state) != 2 {
				t.Errorf("free: token %d, counter %d, want 2", lock.Token(), counterOf(t, state))
			}
			wantText(t, said.String(), "fence repaired", c.was, "now=2")
			noError(t, lock.WriteFile(state, nil, 0o600))
			noError(t, lock.Release())

			// Without a log, only the record of the dead owner knows.
			abandon(t, state)
			noError(t, os.Remove(state+".recovery.log"))
			noError(t, c.damage(state+".fence"))
			lock, err = lockfile.TryAcquire(state, lockfile.Options{Logger: logger})
			noError(t, err)
			if lock.Token() != 3 || counterOf(t, state) != 3 {
				t.Errorf("no log: token %d, counter %d, want 3", lock.Token(), counterOf(t, state))
			}
			noError(t, lock.Release())
			noLeftovers(t, state)
		})
	}
}

// A fence that was put back, as from a backup, is not believed against the log.
func TestFencePutBack(t *testing.T) {
	state := newState(t)
	for range 3 {
		abandon(t, state)
	}
	expect(t, startActor(t, state), "recover", "ok") // 3
	noError(t, os.WriteFile(state+".fence", []byte("1\n"), 0o600))
	child := startActor(t, state)
	if _, token, _ := tenureOf(t, child.Ask("acquire")); token != 3 || counterOf(t, state) != 3 {
		t.Errorf("token %d, counter %d, after 3 was handed out", token, counterOf(t, state))
	}
}

// After the log has rolled, the numbers stand in the old one.
func TestFencePutBackBesideTheOldLog(t *testing.T) {
	state := newState(t)
	for range 3 {
		abandon(t, state)
	}
	expect(t, startActor(t, state), "recover", "ok") // 3
	noError(t, os.Rename(state+".recovery.log", state+".recovery.log.1"))
	noError(t, os.WriteFile(state+".fence", []byte("1\n"), 0o600))
	child := startActor(t, state)
	if _, token, _ := tenureOf(t, child.Ask("acquire")); token != 3 || counterOf(t, state) != 3 {
		t.Errorf("token %d, counter %d, after 3 was handed out", token, counterOf(t, state))
	}
}

// A process that has used a lock before does not compare its fence with the log again, so that it
// holds a number that was handed out already where the fence is put back under it. Who takes over
// from it, recovers or breaks goes by the log: no number above it is handed out twice.
func TestFencePutBackUnderAProcess(t *testing.T) {
	for verb, end := range map[string]func(child *probetest.Child){
		"recover": (*probetest.Child).Kill, "try": (*probetest.Child).Kill,
		"break": func(*probetest.Child) {},
	} {
		t.Run(verb, func(t *testing.T) {
			state := newState(t)
			for range 3 {
				abandon(t, state)
			}
			expect(t, startActor(t, state), "recover", "ok") // 3
			child := startActor(t, state)
			tenureOf(t, child.Ask("acquire"))
			expect(t, child, "release", "ok")
			noError(t, os.WriteFile(state+".fence", []byte("1\n"), 0o600))
			id, _, _ := tenureOf(t, child.Ask("acquire"))
			end(child)
			if verb == "break" {
				verb += " " + id
			}
			next := startActor(t, state)
			if reply := next.Ask(verb); reply != "ok" && !strings.HasPrefix(reply, "held ") {
				t.Fatalf("%s: %s", verb, reply)
			}
			if counter := counterOf(t, state); counter != 4 {
				t.Errorf("the counter is at %d, after 3 was handed out", counter)
			}
		})
	}
}

// Neither is it believed against the record of a dead owner, where there is no log any more.
func TestFencePutBackWithoutLog(t *testing.T) {
	state := newState(t)
	for range 3 {
		abandon(t, state)
	} // the last one has 2
	noError(t, os.WriteFile(state+".fence", []byte("0\n"), 0o600))
	noError(t, os.Remove(state+".recovery.log"))
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.Token() != 3 || counterOf(t, state) != 3 {
		t.Errorf("token %d, counter %d, after 2 was handed out", lock.Token(), counterOf(t, state))
	}
}

// Filesystems give the same numbers to their files: a fence that was compared with its log says
// nothing about one of that number elsewhere.
func TestFencesAreKnownByDeviceToo(t *testing.T) {
	got := lockfile.FirstReads([2]uint64{1, 7}, [2]uint64{2, 7}, [2]uint64{1, 7}, [2]uint64{1, 8})
	if want := []bool{true, true, false, true}; !slices.Equal(got, want) {
		t.Errorf("first: %v, want %v", got, want)
	}
}

// Numbers survive releases, removed records and crashes.
func TestFenceGoesOn(t *testing.T) {
	state := newState(t)
	for want := range 6 {
		if _, token := abandon(t, state); token != want {
			t.Fatalf("crash %d: token %d", want, token)
		}
	}
	noError(t, os.Remove(state+".lock")) // a person's hand
	child := startActor(t, state)
	if _, token, _ := tenureOf(t, child.Ask("acquire")); token != 5 {
		t.Errorf("after the record was removed: token %d", token)
	}
	child.Kill()
	if _, token := abandon(t, state); token != 6 {
		t.Errorf("after one more crash: token %d", token)
	}
}

// What cannot be a fence is left alone, and nobody gets a lock.
func TestFenceIsSomethingElse(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, path string){
		"a directory": func(t *testing.T, path string) { noError(t, os.Mkdir(path, 0o700)) },
		"a link": func(t *testing.T, path string) {
			noError(t, os.WriteFile(path+"-victim", []byte("7\n"), 0o600))
			symlink(t, path+"-victim", path)
		},
		"a dangling link": func(t *testing.T, path string) { symlink(t, "nowhere", path) },
		"somebody's data": func(t *testing.T, path string) {
			noError(t, os.WriteFile(path, bytes.Repeat([]byte("data "), 20000), 0o600))
		},
		"two names": func(t *testing.T, path string) {
			noError(t, os.WriteFile(path+"-too", []byte("data"), 0o600))
			noError(t, os.Link(path+"-too", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dead := range []bool{false, true} {
				state := newState(t)
				if dead {
					abandon(t, state)
					noError(t, os.Remove(state+".fence"))
				}
				put(t, state+".fence")
				before, _ := os.Lstat(state + ".fence")
				lock, err := lockfile.TryAcquire(state, lockfile.Options{})
				if lock != nil || !errors.Is(err, fence.ErrDamaged) {
					t.Fatalf("dead %v: %v, %v", dead, lock, err)
				}
				e, ok := errors.AsType[*lockfile.Error](err)
				if !ok || e.Step == "" || !strings.Contains(err.Error(), state+".fence") {
					t.Errorf("dead %v: %T: %v", dead, err, err)
				}
				after, err := os.Lstat(state + ".fence")
				if err != nil ||
					fmt.Sprint(
						after.Mode(),
						after.Size(),
					) != fmt.Sprint(
						before.Mode(),
						before.Size(),
					) {
					t.Errorf("dead %v: it was %v, it is %v, %v", dead, before, after, err)
				}
				want := map[bool]identity.Verdict{false: identity.Free, true: identity.Gone}[dead]
				if in := inspect(t, state); in.Verdict != want || in.Fence.Err == "" {
					t.Errorf("dead %v: %v, fence %+v", dead, in.Finding, in.Fence)
				}
			}
		})
	}
}
