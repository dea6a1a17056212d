package lockfiletest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// bare makes TestMain forget to call probetest.Run, as users do.
const bare = "LOCKFILETEST_BARE"

func TestMain(m *testing.M) {
	if os.Getenv(bare) != "" {
		os.Exit(m.Run())
	}
	probetest.Run(m)
}

func newState(t *testing.T) string { return filepath.Join(t.TempDir(), "state") }

func TestAbandoned(t *testing.T) {
	state := newState(t)
	in := lockfiletest.AbandonedWith(t, state, lockfile.Options{Label: "nightly"})
	if in.Verdict != identity.Gone || in.Owner == nil || in.Owner.Label != "nightly" ||
		in.Owner.PID == os.Getpid() {
		t.Fatalf("%v, owner %+v", in.Finding, in.Owner)
	}
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lock.Recovered() == nil || lock.Recovered().LockID != in.LockID || lock.Token() != 1 {
		t.Errorf("token %d, recovered %+v", lock.Token(), lock.Recovered())
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if in := lockfiletest.Abandoned(t, state); in.Fence.Record != 1 {
		t.Errorf("%+v", in.Fence)
	}
}

func TestHeld(t *testing.T) {
	state := newState(t)
	until := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	other := lockfiletest.HeldWith(t, state, lockfile.Options{Label: "import", ExpectedUntil: until,
		Mode: 0o640, FreshToken: true, Durability: lockfile.FlushFirst, GateWait: time.Second})
	_, err := lockfile.TryAcquire(state, lockfile.Options{})
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	if !ok || busy.Owner.PID != other.PID() || busy.LockID != other.ID() ||
		busy.Fence.Record != other.Token() ||
		other.Token() != 1 || busy.Owner.Label != "import" ||
		!busy.Owner.ExpectedUntil.Equal(until) {
		t.Fatalf("%v, %+v", err, busy)
	}
	if info, err := os.Stat(busy.Lock); err != nil ||
		info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" { // which has no such bits
		t.Errorf("%v, %v", info, err)
	}
	if err := other.WriteState("two\nlines"); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(state); err != nil || string(text) != "two\nlines" {
		t.Errorf("the state is %q, %v", text, err)
	}
	if err := errors.Join(other.Check(), other.Release()); err != nil {
		t.Error(err)
	}
	if err := other.Check(); !errors.Is(err, lockfile.ErrReleased) ||
		errors.Is(err, lockfile.ErrLost) {
		t.Errorf("after the release: %v", err)
	}
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestOvertaken(t *testing.T) {
	state := newState(t)
	other := lockfiletest.Held(t, state)
	_, err := lockfile.Break(t.Context(), state, lockfile.BreakRequest{LockID: other.ID(),
		Reason: "test", EvenIfAlive: true}, lockfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"WriteState": other.WriteState("late"),
		"Check":   other.Check(),
		"Release": other.Release()} {
		if !errors.Is(err, lockfile.ErrFenced) || !errors.Is(err, lockfile.ErrLost) ||
			!strings.Contains(err.Error(), state) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(state); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the late write went through")
	}
}

func TestUnknown(t *testing.T) {
	state := newState(t)
	in := lockfiletest.Unknown(t, state)
	if in.Verdict != identity.Unknown || in.Next == "" {
		t.Errorf("%v, next %q", in.Finding, in.Next)
	}
	_, err := lockfile.Acquire(t.Context(), state, lockfile.Options{})
	if busy, ok := errors.AsType[*lockfile.BusyError](err); !ok ||
		busy.Verdict != identity.Unknown {
		t.Errorf("%v", err)
	}
}

// failure is a test that fails in a test.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// failing runs what must fail the test, and returns what it says.
func failing(t *testing.T, run func(tb probetest.TB)) (said string) {
	t.Helper()
	f := &failure{TB: t}
	defer func() {
		if got := recover(); got != any(f) {
			t.Errorf("it did not fail: %v", got)
		}
		said = f.said
	}()
	run(f)
	return ""
}

func TestMisuse(t *testing.T) {
	state := newState(t)
	for name, opts := range map[string]lockfile.Options{
		"Logger": {Logger: slog.Default()}, "System": {System: probe.Real()},
		"hook": {OnLost: func(error) {}},
	} {
		said := failing(t, func(tb probetest.TB) { lockfiletest.HeldWith(tb, state, opts) })
		if !strings.Contains(said, "another process") {
			t.Errorf("%s: %s", name, said)
		}
	}
	said := failing(t, func(tb probetest.TB) {
		lockfiletest.HeldWith(tb, state, lockfile.Options{Label: "two\nlines"})
	})
	if !strings.Contains(said, "Options.Label") {
		t.Error(said)
	}
	missing := filepath.Join(state, "missing", "state")
	said = failing(t, func(tb probetest.TB) { lockfiletest.Held(tb, missing) })
	if !strings.Contains(said, "create the directory first") { // what to do next is said everywhere
		t.Error(said)
	}
	lockfiletest.Held(t, state)
	said = failing(t, func(tb probetest.TB) { lockfiletest.Unknown(tb, state) })
	if !strings.Contains(said, "not free") {
		t.Error(said)
	}
}

// Without probetest.Run in TestMain a child would run the tests, whose children run the tests …: it
// ends after one, and says what is missing.
func TestMainForgotten(t *testing.T) {
	if os.Getenv(bare) != "" {
		t.Fatal("run by a child that should be a holder")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHeld$")
	cmd.Env = append(os.Environ(), bare+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "probetest.Run") {
		t.Errorf("%v: %s", err, out)
	}
	if n := strings.Count(string(out), "--- FAIL"); n > 2 {
		t.Errorf("%d tests ran: %s", n, out)
	}
}
