package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

func breakIt(state string, req lockfile.BreakRequest) (*lockfile.Broken, error) {
	return lockfile.Break(context.Background(), state, req, lockfile.Options{})
}

// A person breaks the lock that they saw, and no other; not a living owner's unless they say so. It
// is logged with who and why, the number grows by one, and the holder is fenced.
func TestBreak(t *testing.T) {
	state := newState(t)
	holder := startActor(t, state, knobs{Label: "nightly"})
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	const another = "0123456789abcdef"
	ask := func(id, reason string) lockfile.BreakRequest {
		return lockfile.BreakRequest{LockID: id, Reason: reason, EvenIfAlive: true}
	}
	for name, c := range map[string]struct {
		req   lockfile.BreakRequest
		want  error
		parts []string
	}{
		"no reason":    {ask(id, ""), nil, []string{"Reason"}},
		"blank reason": {ask(id, " \t\n"), nil, []string{"Reason"}},
		"another lock": {ask(another, "x"), lockfile.ErrChanged, []string{another, id}},
		"no lock":      {ask("", "x"), lockfile.ErrChanged, []string{id}},
		"half an id":   {ask(id[:8], "x"), lockfile.ErrChanged, []string{id}},
		"a dirty word": {ask(id+"\x1b[31m", "x"), lockfile.ErrChanged, []string{`\x1b[31m`}},
		"it is alive": {lockfile.BreakRequest{LockID: id, Reason: "x"}, lockfile.ErrBusy,
			[]string{"held", "alive", `"nightly"`}},
	} {
		broken, err := breakIt(state, c.req)
		if broken != nil || err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Fatalf("%s: %+v, %v", name, broken, err)
		}
		wantText(t, err.Error(), append(c.parts, state)...)
	}
	expect(t, holder, "write still mine", "ok")
	if in := inspect(t, state); in.LockID != id || in.Fence.Counter != 0 {
		t.Fatalf("%v, fence %+v", in.Finding, in.Fence)
	}
	if _, err := os.Stat(state + ".recovery.log"); err == nil {
		t.Error("what was refused was logged")
	}

	broken, err := breakIt(state, lockfile.BreakRequest{LockID: id, Reason: "it hangs", By: "alice",
		EvenIfAlive: true})
	noError(t, err)
	if broken.LockID != id || broken.Fence != 1 || broken.Saved != "" || broken.State != state ||
		broken.Owner == nil || broken.Owner.PID != holder.PID() ||
		broken.Finding.Verdict != identity.Alive {
		t.Errorf("%+v, owner %+v", broken, broken.Owner)
	}
	wantText(t, broken.Warning, "if the owner lives", "refused")
	if in := inspect(t, state); in.Verdict != identity.Free || in.Fence.Counter != 1 {
		t.Errorf("%v, fence %+v", in.Finding, in.Fence)
	}
	expect(t, holder, "write late", "fenced")
	expect(t, holder, "release", "fenced")
	if text := content(t, state); text != "still mine" {
		t.Errorf("the state is %q", text)
	}
	entries, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	if len(entries) != 1 || unreadable != 0 {
		t.Fatalf("%d entries, %d unreadable", len(entries), unreadable)
	}
	if e := entries[0]; e.Event != lockfile.EventBreak || e.Reason != "it hangs" || e.By != "alice" ||
		e.Fence != 1 || e.LockID != id || e.RecoveredPID != holder.PID() ||
		e.Verdict != identity.Alive ||
		len(e.Evidence) == 0 ||
		e.At.IsZero() ||
		e.Host == "" {
		t.Errorf("%+v", e)
	}
	_, err = breakIt(state, lockfile.BreakRequest{LockID: id, Reason: "again"})
	wantError(t, err, lockfile.ErrChanged)
	wantText(t, err.Error(), "free")
	noLeftovers(t, state)
}

// Breaking what is provably gone anyway needs no courage, and says who did it.
func TestBreakAbandoned(t *testing.T) {
	state := newState(t)
	id, _ := abandon(t, state)
	broken, err := breakIt(state, lockfile.BreakRequest{LockID: id, Reason: "tidy"})
	noError(t, err)
	if broken.Warning != "" || broken.Fence != 1 || broken.Finding.Verdict != identity.Gone {
		t.Errorf("%+v", broken)
	}
	entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	if len(entries) != 1 || !strings.HasPrefix(entries[0].By, "user ") {
		t.Errorf("%+v", entries)
	}
	noLeftovers(t, state)
}

// What nobody can read is kept as it is, byte for byte, under a name that tells the lock.
func TestBreakUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"newer":    `{"v":3,"lease":"` + strings.Repeat("ab", 24) + `"}`,
		"lease-v1": strings.Repeat("0f", 24) + "\n",
		"foreign":  "1234\n",
		"damaged":  `{"v":2,"lease":7}`,
		"binary":   "DIRC\x00\x00\x00\x02\xff\xfe",
		"huge":     strings.Repeat("x", 70<<10),
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			noError(t, os.WriteFile(state+".lock", []byte(text), 0o600))
			in := inspect(t, state)
			if in.Verdict != identity.Unknown || in.LockID == "" {
				t.Fatalf("%v", in.Finding)
			}
			_, err := lockfile.TryAcquire(state, lockfile.Options{})
			wantError(t, err, lockfile.ErrBusy)
			req := lockfile.BreakRequest{LockID: in.LockID, Reason: "not ours", By: "bob"}
			broken, err := breakIt(state, req)
			noError(t, err)
			if want := state + ".lock.broken-" + in.LockID; broken.Saved != want ||
				content(t, want) != text {
				t.Errorf("saved at %q", broken.Saved)
			}
			wantText(t, broken.Warning, "nothing is known of the owner")
			after := inspect(t, state)
			if after.Verdict != identity.Free || after.Fence.Counter != 1 {
				t.Errorf("%v, fence %+v", after.Finding, after.Fence)
			}
			wantText(t, strings.Join(after.Notes, "\n"), broken.Saved)
			entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
			noError(t, err)
			if len(entries) != 1 || entries[0].LockID != in.LockID ||
				entries[0].RecoveredPID != 0 ||
				len(entries[0].Evidence) == 0 {
				t.Errorf("%+v", entries)
			}
			lock := tryAcquire(t, state, lockfile.Options{})
			noError(t, lock.Release())
		})
	}
}

// The id of an unreadable record is that of its bytes: another content is another lock.
func TestBreakComparesContent(t *testing.T) {
	state := newState(t)
	noError(t, os.WriteFile(state+".lock", []byte("1234\n"), 0o600))
	id := inspect(t, state).LockID
	noError(t, os.WriteFile(state+".lock", []byte("1235\n"), 0o600))
	_, err := breakIt(state, lockfile.BreakRequest{LockID: id, Reason: "x"})
	wantError(t, err, lockfile.ErrChanged)
	if text := content(t, state+".lock"); text != "1235\n" {
		t.Errorf("the record became %q", text)
	}
}

// A directory or a link at the lock's path is moved away as it is, and what the link names is left
// alone.
func TestBreakSomethingElse(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, lock string){
		"directory": func(t *testing.T, lock string) {
			noError(t, os.Mkdir(lock, 0o700))
			noError(t, os.WriteFile(filepath.Join(lock, "inside"), []byte("victim"), 0o600))
		},
		"link": func(t *testing.T, lock string) {
			victim := filepath.Join(filepath.Dir(lock), "victim")
			noError(t, os.Mkdir(victim, 0o700))
			noError(t, os.WriteFile(filepath.Join(victim, "inside"), []byte("victim"), 0o600))
			symlink(t, victim, lock)
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			put(t, state+".lock")
			in := inspect(t, state)
			if in.Verdict != identity.Unknown || in.Reason != identity.RecordNotRegular {
				t.Fatalf("%v", in.Finding)
			}
			broken, err := breakIt(
				state,
				lockfile.BreakRequest{LockID: in.LockID, Reason: "in the way"},
			)
			noError(t, err)
			if text := content(t, filepath.Join(broken.Saved, "inside")); text != "victim" {
				t.Errorf("inside %s is %q", broken.Saved, text)
			}
			lock := tryAcquire(t, state, lockfile.Options{})
			noError(t, lock.Release())
		})
	}
}
