package lockfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
)

// A command below a lock writes under the lease that it was given, until somebody breaks the lock.
func TestInherit(t *testing.T) {
	t.Parallel()
	state := newState(t)
	above, below := startActor(t, state), startActor(t, state)
	id, _, _ := tenureOf(t, above.Ask("acquire"))
	environ := above.Ask("environ")
	expect(t, below, "inherit "+environ, "ok")
	expect(t, below, "write by the child", "ok")
	expect(t, below, "check", "ok")
	expect(t, above, "write by the parent", "ok")
	expect(t, below, "add", `failed io strconv.Atoi: parsing "by the parent": invalid syntax`)
	expect(t, below, "write 41", "ok")
	expect(t, below, "add", "ok")
	if text := content(t, state); text != "42" {
		t.Errorf("the state is %q", text)
	}
	noError(t, breakAnyway(state, id))
	expect(t, below, "write late", "fenced")
	expect(t, below, "check", "fenced")
	expect(t, above, "write late", "fenced")
	// A lock that came later is none of its business.
	other := startActor(t, state)
	tenureOf(t, other.Ask("acquire"))
	again := startActor(t, state)
	expect(t, again, "inherit "+environ, "ok")
	expect(t, again, "write late", "fenced")
	if text := content(t, state); text != "42" {
		t.Errorf("the state is %q", text)
	}
	expect(t, other, "release", "ok")
	expect(t, above, "release", "fenced") // on Windows its record has had another name until now
	noLeftovers(t, state)
}

// The lock of a wrapper that was killed stands until it is taken over: the command may go on so
// long.
func TestInheritOutlivesTheWrapper(t *testing.T) {
	needsProof(t)
	t.Parallel()
	state := newState(t)
	above, below := startActor(t, state), startActor(t, state)
	tenureOf(t, above.Ask("acquire"))
	expect(t, below, "inherit "+above.Ask("environ"), "ok")
	above.Kill()
	expect(t, below, "write orphaned", "ok")
	expect(t, startActor(t, state), "recover", "ok")
	expect(t, below, "write late", "fenced")
	if text := content(t, state); text != "orphaned" {
		t.Errorf("the state is %q", text)
	}

	// And one that was released is lost.
	above, below = startActor(t, state), startActor(t, state)
	tenureOf(t, above.Ask("acquire"))
	expect(t, below, "inherit "+above.Ask("environ"), "ok")
	expect(t, above, "release", "ok")
	expect(t, below, "write late", "lost")
	// A copy of the record is not the record.
	tenureOf(t, above.Ask("acquire"))
	below = startActor(t, state)
	expect(t, below, "inherit "+above.Ask("environ"), "ok")
	if err := replace(state+".lock", content(t, state+".lock")); vfs.OwnerKeeps() {
		if err == nil {
			t.Error("the record of an owner that lives was replaced")
		}
		return
	}
	expect(t, below, "write late", "lost")
	noError(t, os.Remove(state+".lock"))
}

// What an environment means, and what not.
func TestInheritEnvironments(t *testing.T) {
	state := newState(t)
	dir := filepath.Dir(state)
	lock := tryAcquire(t, state, lockfile.Options{})
	environ := lock.Environ()
	lease := leaseOf(t, state)
	with := func(name, value string) []string {
		var out []string
		for _, kv := range environ {
			if n, _, _ := strings.Cut(kv, "="); n == name {
				kv = name + "=" + value
			}
			out = append(out, kv)
		}
		return out
	}
	for name, c := range map[string]struct {
		path    string
		environ []string
		want    string // none, bad, ok, fenced, lost
	}{
		"as given":      {state, environ, "ok"},
		"among others":  {state, append([]string{"PATH=/bin", "PROBATE_X=y", "X"}, environ...), "ok"},
		"empty":         {state, nil, "none"},
		"no lease":      {state, with(lockfile.EnvLease, ""), "none"},
		"no state":      {state, with(lockfile.EnvState, ""), "none"},
		"another state": {filepath.Join(dir, "other"), environ, "none"},
		"moved":         {state, with(lockfile.EnvState, "/no/such/place/state"), "ok"},
		"state elsewhere": {state, []string{lockfile.EnvState + "=/no/such/place/state",
			lockfile.EnvFence + "=0", lockfile.EnvLease + "=" + strings.Repeat("0", 48)}, "none"},
		"no fence":      {state, with(lockfile.EnvFence, ""), "bad"},
		"bad fence":     {state, with(lockfile.EnvFence, "-1"), "bad"},
		"bad lease":     {state, with(lockfile.EnvLease, lease[:47]), "bad"},
		"capital lease": {state, with(lockfile.EnvLease, strings.ToUpper(lease)+"A"), "bad"},
		"guessed lease": {state, with(lockfile.EnvLease, strings.Repeat("0", 48)), "lost"},
		"guessed fence": {state, with(lockfile.EnvFence, "1"), "fenced"},
	} {
		below, err := lockfile.Inherit(c.path, c.environ, lockfile.Options{})
		switch {
		case c.want == "none":
			if below != nil || err != nil {
				t.Errorf("%s: %v, %v", name, below, err)
			}
			continue
		case c.want == "bad":
			if below != nil || err == nil || !strings.Contains(err.Error(), state) ||
				strings.Contains(strings.ToLower(err.Error()), lease[:20]) {
				t.Errorf("%s: %v, %v", name, below, err)
			}
			continue
		}
		noError(t, err)
		if got := outcome(below.Check()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := outcome(below.WriteFile(state, []byte(name), 0o600)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if below.State() != state ||
			c.want == "ok" && (below.ID() != lock.ID() || below.Token() != lock.Token()) {
			t.Errorf("%s: %s, %s, %d", name, below.State(), below.ID(), below.Token())
		}
		noError(t, below.Close())
		if err := below.Check(); c.want == "ok" && !errors.Is(err, lockfile.ErrReleased) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
	// Other words for the same state.
	_ = os.Symlink(".", filepath.Join(dir, "link"))
	paths := []string{dir + "/./state"}
	if _, err := os.Lstat(filepath.Join(dir, "link")); err == nil { // Wine only says that it makes it
		paths = append(paths, filepath.Join(dir, "link", "state"))
	}
	for _, path := range paths {
		below, err := lockfile.Inherit(path, environ, lockfile.Options{})
		if err != nil || below == nil {
			t.Fatalf("%s: %v, %v", path, below, err)
		}
		noError(t, below.Check())
		noError(t, below.Close())
	}
	noError(t, lock.Check())
	noError(t, lock.Release())
}

// The directory is renamed under a lock: the holder and the command below it go on, each by its
// way.
func TestInheritAfterRename(t *testing.T) {
	notOnWine(t, "a directory with open files can be renamed")
	t.Parallel()
	state := newState(t)
	before, after := filepath.Dir(state)+"/before", filepath.Dir(state)+"/after"
	noError(t, os.Mkdir(before, 0o700))
	above := startActor(t, before+"/state")
	tenureOf(t, above.Ask("acquire"))
	environ := above.Ask("environ")
	if err := os.Rename(before, after); err != nil {
		t.Skip("a directory in use cannot be renamed here: ", err)
	}
	below := startActor(t, after+"/state")
	expect(t, below, "inherit "+environ, "ok")
	expect(t, below, "write by the child", "ok")
	expect(t, above, "check", "ok")
	if text := content(t, after+"/state"); text != "by the child" {
		t.Errorf("the state is %q", text)
	}
	expect(t, above, "release", "ok")
	expect(t, below, "write late", "lost")
	noLeftovers(t, after+"/state")
}

// The lease is in the record and in Environ, and in nothing that anybody prints.
func TestLeaseIsSecret(t *testing.T) {
	state := newState(t)
	said, logger := told()
	var seen []any
	show := func(v ...any) { seen = append(seen, v...) }
	opts := lockfile.Options{Logger: logger,
		OnWaiting:   func(in lockfile.Inspection) { show(in) },
		OnRecovered: func(r lockfile.Recovered) { show(r) },
		OnBreach:    func(b lockfile.Breach) { show(b) }}
	abandon(t, state)
	leases := []string{leaseOf(t, state)}
	show(inspect(t, state))
	lock := tryAcquire(t, state, opts)
	leases = append(leases, leaseOf(t, state))
	show(lock, *lock.Recovered(), inspect(t, state), lock.String())
	_, err := lockfile.TryAcquire(state, opts)
	show(err)
	below, err := lockfile.Inherit(state, lock.Environ(), opts)
	noError(t, err)
	show(below)
	broken, err := lockfile.Break(always, state, lockfile.BreakRequest{LockID: lock.ID(),
		Reason: "test", EvenIfAlive: true}, opts)
	noError(t, err)
	show(*broken, lock.Check(), below.Check(), lock.Release(), lock.Release())
	noError(t, below.Close())
	entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	show(entries, content(t, state+".recovery.log"), said.String())
	for _, v := range seen {
		text, _ := json.Marshal(v)
		all := fmt.Sprintf("%v %+v %#v %s %s", v, v, v, v, text)
		for _, lease := range leases {
			if strings.Contains(all, lease) {
				t.Errorf("%T shows the lease: %s", v, strings.ReplaceAll(all, lease, "*****"))
			}
		}
	}
}
