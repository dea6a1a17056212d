package lockfile_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

func TestInspectFields(t *testing.T) {
	state := openState(t)
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	before := time.Now().Truncate(time.Millisecond)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{Label: "nightly",
		ExpectedUntil: until})
	must(t, err)
	defer lock.Release()
	in, err := lockfile.Inspect(state, lockfile.Options{})
	must(t, err)
	info, err := os.Stat(state + ".lock")
	must(t, err)
	host, err := os.Hostname()
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	if in.State != lock.State() || in.Lock != lock.Path() || in.Lock != in.State+".lock" ||
		in.LockID != lock.ID() || in.Format != "record-v2" || in.Bytes != info.Size() ||
		!in.ModifiedAt.Equal(info.ModTime()) || in.Fence != (lockfile.Fence{}) {
		t.Errorf("%+v", in)
	}
	self, facts := probe.Real().Self(), probe.Real().Host()
	o := in.Owner
	if o == nil || o.PID != os.Getpid() || o.Program != filepath.Base(program) || o.Host != host ||
		o.Since.Before(before) || o.Since.After(time.Now()) || o.Label != "nightly" ||
		!o.ExpectedUntil.Equal(until) || o.OS != "linux" ||
		o.PIDNamespace != facts.Namespaces.PID.Value ||
		o.Boot != facts.Boot.ID.Value || o.Start != string(self.Start.Value) || !o.Local ||
		o.Filesystem == "" || o.KernelLock != "ofd" ||
		o.StartedAt.Sub(self.StartedAt.Value).Abs() > time.Second {
		t.Errorf("owner %+v", o)
	}
	if len(in.Notes) != 1 || !strings.Contains(in.Notes[0], "this process holds") {
		t.Errorf("notes %q", in.Notes)
	}
	wantKeys(t, in)
}

// wantKeys demands the names that scripts rely on, and a list of evidence even where there is none.
func wantKeys(t *testing.T, in lockfile.Inspection) map[string]any {
	t.Helper()
	text, err := json.Marshal(in)
	must(t, err)
	var fields map[string]any
	must(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"state", "lock", "verdict", "reason", "sentence", "evidence",
		"owner", "lockID", "format", "fence", "next", "bytes"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %s", name, text)
		}
	}
	if _, ok := fields["evidence"].([]any); !ok {
		t.Errorf("evidence is no list in %s", text)
	}
	for _, name := range []string{"counter", "record"} {
		if _, ok := fields["fence"].(map[string]any)[name].(float64); !ok {
			t.Errorf("no fence.%s in %s", name, text)
		}
	}
	var again lockfile.Inspection
	if err := json.Unmarshal(text, &again); err != nil || again.Verdict != in.Verdict ||
		again.LockID != in.LockID {
		t.Errorf("%s became %+v, %v", text, again, err)
	}
	return fields
}

func TestInspectFree(t *testing.T) {
	state := openState(t)
	before := folderFacts(t, filepath.Dir(state))
	in, err := lockfile.Inspect(state, lockfile.Options{})
	must(t, err)
	fields := wantKeys(t, in)
	if fields["verdict"] != "free" || fields["owner"] != nil || fields["lockID"] != "" ||
		fields["format"] != "" || fields["modifiedAt"] != nil ||
		!strings.Contains(in.Next, "free") {
		t.Errorf("%v", fields)
	}
	wantFolder(t, filepath.Dir(state), before)
	_, err = lockfile.Inspect(filepath.Join(state, "below", "state"), lockfile.Options{})
	if err == nil || !strings.Contains(err.Error(), state) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

// One lock, whatever its state is called.
func TestInspectSpellings(t *testing.T) {
	state := openState(t)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	must(t, err)
	defer lock.Release()
	dir := filepath.Dir(state)
	must(t, os.Symlink(state, filepath.Join(dir, "link")))
	must(t, os.Symlink("link", filepath.Join(dir, "link-to-link")))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must(t, os.Symlink(dir, filepath.Join(dir, "sub", "up")))
	t.Chdir(dir)
	for _, path := range []string{"state.json", "./state.json", "sub/../state.json",
		"sub/up/state.json", "link", dir + "//state.json", "sub/up/sub/up/link", "link-to-link"} {
		in, err := lockfile.Inspect(path, lockfile.Options{})
		if err != nil || in.LockID != lock.ID() || in.State != state {
			t.Errorf("%s: %v %s, %v", path, in.Finding, in.State, err)
		}
	}
}

// The two numbers that must agree while a lock is held, and what it means when they do not.
func TestInspectFence(t *testing.T) {
	state := openState(t)
	deadRecord(t, state)
	zero, err := os.ReadFile(state + ".fence")
	must(t, err)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	must(t, err)
	note := func() (lockfile.Fence, string) {
		t.Helper()
		in, err := lockfile.Inspect(state, lockfile.Options{})
		must(t, err)
		return in.Fence, strings.Join(in.Notes, "\n")
	}
	if f, notes := note(); f.Counter != 1 || f.Record != 1 || strings.Contains(notes, "counter") {
		t.Errorf("fence %+v, notes %q", f, notes)
	}
	putFile(t, state+".fence", zero)
	f, notes := note()
	if f.Counter != 0 || f.Record != 1 || !strings.Contains(notes, "below the record") {
		t.Errorf("put back: fence %+v, notes %q", f, notes)
	}
	putFile(t, state+".fence", []byte("garbage"))
	if f, _ := note(); f.Err == "" || !strings.Contains(f.Err, state+".fence") {
		t.Errorf("damaged: fence %+v", f)
	}
	must(t, os.Remove(state+".fence")) // and repaired from the record by whoever takes the gate
	counter, err := fence.Open(state + ".fence")
	must(t, err)
	must(t, lock.Commit(context.Background(), func() error { return nil }))
	gate, err := counter.Hold(context.Background())
	must(t, err)
	must(t, gate.Raise(5)) // as a breaker does that dies before it has taken the record away
	must(t, gate.Release())
	f, notes = note()
	if f.Counter != 5 || f.Record != 1 || !strings.Contains(notes, "above the record") {
		t.Errorf("raised: fence %+v, notes %q", f, notes)
	}
	if got := outcome(lock.WriteFile(state, nil, 0o600)); got != "fenced" {
		t.Errorf("a write of the overtaken owner: %s", got)
	}
	if got := outcome(lock.Release()); got != "fenced" {
		t.Errorf("release of the overtaken owner: %s", got)
	}
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err != nil || in.Verdict != identity.Free {
		t.Errorf("%v, %v: the record of the overtaken owner stays", in.Finding, err)
	}
}

// Traces beside a lock that somebody should know of.
func TestInspectNotes(t *testing.T) {
	state := openState(t)
	putFile(t, state+".lock", []byte("1234\n"))
	in, err := lockfile.Inspect(state, lockfile.Options{})
	must(t, err)
	broken, err := lockfile.Break(context.Background(), state,
		lockfile.BreakRequest{LockID: in.LockID, Reason: "test"}, lockfile.Options{})
	must(t, err)
	deadRecord(t, state) // leaves a marker of our own when it is taken over
	_, err = lockfile.Recover(context.Background(), state, lockfile.Options{})
	must(t, err)
	claim := state + ".lock.recovering.0123456789abcdef"
	putFile(t, claim, []byte("{}"))
	marker := state + ".recovered-0123456789abcdef01234567"
	putFile(t, marker, nil)
	another := filepath.Join(filepath.Dir(state), "other.json")
	putFile(t, another+".lock.recovering.0123456789abcdef", nil)
	own, err := filepath.Glob(state + ".recovered-*")
	if err != nil || len(own) != 2 {
		t.Fatalf("markers %q, %v", own, err)
	}
	in, err = lockfile.Inspect(state, lockfile.Options{})
	must(t, err)
	if len(in.Notes) != 3 {
		t.Fatalf("notes %q", in.Notes)
	}
	for i, path := range []string{broken.Saved, claim, marker} {
		if !strings.Contains(in.Notes[i], path) {
			t.Errorf("note %q does not name %s", in.Notes[i], path)
		}
	}
}
