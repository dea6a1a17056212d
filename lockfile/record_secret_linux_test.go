package lockfile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// Whoever knows the lease can commit under the lock: it stands in the record, in the environment of
// a command below, and nowhere else.
func TestRecordLeaseIsSecret(t *testing.T) {
	state := openState(t)
	content := deadRecord(t, state)
	leases := []string{parseRecord(t, content)["lease"].(string)}
	var said bytes.Buffer
	say := func(what string, values ...any) {
		for _, v := range values {
			fmt.Fprintf(&said, "\n%s: %v %+v %#v %s %q", what, v, v, v, v, v)
			if text, err := json.Marshal(v); err == nil {
				fmt.Fprintf(&said, " %s", text)
			}
			if err, ok := v.(error); ok {
				fmt.Fprintf(&said, " %s", err)
			}
		}
	}
	opts := lockfile.Options{
		Logger: slog.New(slog.NewTextHandler(&said,
			&slog.HandlerOptions{Level: slog.LevelDebug})),
		OnRecovered: func(r lockfile.Recovered) { say("OnRecovered", r, r.Owner) },
		OnWaiting:   func(in lockfile.Inspection) { say("OnWaiting", in) },
		OnLost:      func(err error) {},
		OnBreach:    func(b lockfile.Breach) { say("OnBreach", b) },
	}
	in, err := lockfile.Inspect(state, opts)
	must(t, err)
	say("Inspect", in, in.Owner, in.Finding)

	lock, err := lockfile.TryAcquire(state, opts) // a takeover
	must(t, err)
	content, err = os.ReadFile(lock.Path())
	must(t, err)
	leases = append(leases, parseRecord(t, content)["lease"].(string))
	say("Lock", lock, []any{lock}, struct{ L *lockfile.Lock }{lock}, lock.Recovered(), lock.ID(),
		lock.Token())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = lockfile.Acquire(ended, state, opts)
	say("Acquire", err)
	_, err = lockfile.TryAcquire(state, opts)
	say("TryAcquire", err)
	_, err = lockfile.Recover(context.Background(), state, opts)
	say("Recover", err)
	_, err = lockfile.Break(context.Background(), state, lockfile.BreakRequest{LockID: "x",
		Reason: "r"}, opts)
	say("Break", err)
	inherited, err := lockfile.Inherit(state, lock.Environ(), opts)
	must(t, err)
	say("Inherited", inherited, []any{inherited}, inherited.Check())
	broken, err := lockfile.Break(context.Background(), state,
		lockfile.BreakRequest{LockID: lock.ID(), Reason: "test", EvenIfAlive: true}, opts)
	must(t, err)
	say("Broken", broken, *broken)
	err = lock.WriteFile(state, nil, 0o600)
	if !errors.Is(err, lockfile.ErrFenced) {
		t.Errorf("a write after the break: %v", err)
	}
	say("after the break", err, lock, lock.Check(), inherited.Check(), lock.Release(),
		context.Cause(lock.Context()))
	must(t, inherited.Close())
	_, err = lockfile.Inherit(state, []string{"PROBATE_STATE=" + state, "PROBATE_FENCE=x",
		"PROBATE_LEASE=" + leases[1]}, opts)
	say("Inherit", err)
	log, _, err := lockfile.ReadLog(state, opts)
	must(t, err)
	say("log", log)
	for _, name := range []string{".fence", ".recovery.log"} {
		text, err := os.ReadFile(state + name)
		must(t, err)
		said.Write(text)
	}

	// The names of markers have the first half, for the other programs. It is of no use alone.
	for _, lease := range leases {
		if i := strings.Index(said.String(), lease[:32]); i >= 0 {
			from := strings.LastIndexByte(said.String()[:i], '\n') + 1
			t.Errorf("the lease is said in: %.200s", said.String()[from:])
		}
	}
	if !strings.Contains(said.String(), lock.ID()) {
		t.Error("the public id is not said")
	}
	if left, _ := filepath.Glob(state + ".lock*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
