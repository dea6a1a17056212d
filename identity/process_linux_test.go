package identity_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func TestCurrent(t *testing.T) {
	id := current(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if id.OS != "linux" || id.PID != os.Getpid() || id.Boot == "" || id.Start.Kind() != "ticks" ||
		id.PIDNS == 0 || id.Program != filepath.Base(exe) || id.Host == "" ||
		id.StartedAt.IsZero() || (id.PIDFD != 0) != hasPIDFD() {
		t.Errorf("%+v", id)
	}
	wantBoth(t, "myself", id, "alive process-running")
	wantBoth(t, "my own number", of(t, os.Getpid()), "alive process-running")
	text, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	var back identity.Identity
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	wantBoth(t, "from JSON", back, "alive process-running")
}

// Whoever asks, and however often, the evidence is the same to the last bit (B15).
func TestEverybodySaysTheSame(t *testing.T) {
	child := startView(t, nil)
	inside := evidenceOnly(child.current())
	for range 200 {
		if id := evidenceOnly(of(t, child.PID())); id != inside {
			t.Fatalf("%v from outside, %v from inside", id, inside)
		}
		if id := evidenceOnly(child.current()); id != inside {
			t.Fatalf("%v, then %v", inside, id)
		}
	}
	me := evidenceOnly(current(t))
	found, text, _ := strings.Cut(child.Ask("of "+strconv.Itoa(os.Getpid())), " ")
	var id identity.Identity
	if err := id.UnmarshalText([]byte(text)); err != nil || found != "false" ||
		evidenceOnly(id) != me {
		t.Errorf("%v: %s, want %v", err, text, me)
	}
	wantFinding(t, "parent", child.judge(me), "alive process-running")
	wantFinding(t, "parent", child.judgeByStart(me), "alive process-running")
}

func TestKilled(t *testing.T) {
	child := startView(t, nil)
	inside, outside := child.current(), of(t, child.PID())
	wantBoth(t, "before", inside, "alive process-running")
	child.Kill()
	wantBoth(t, "from inside", inside, "gone no-such-process")
	wantBoth(t, "from outside", outside, "gone no-such-process")
	if id, err := identity.Of(child.PID()); !errors.Is(err, identity.ErrNoProcess) {
		t.Errorf("%v, %v", id, err)
	}
}

func TestZombie(t *testing.T) {
	child := startView(t, nil)
	id := child.current()
	child.KillNoReap()
	wantBoth(t, "zombie", id, "gone process-exited")
	if f := identity.Judge(id); !strings.Contains(evidenceOf(f), "its parent has not reaped it") {
		t.Errorf("%+v", f)
	}
	if _, err := identity.Of(child.PID()); !errors.Is(err, identity.ErrNoProcess) {
		t.Error(err)
	}
	// Another one that had the number, and has exited too.
	id.PIDFD, id.Start = 0, "ticks:1"
	wantBoth(t, "another zombie", id, "gone pid-reused")
}

func TestStopped(t *testing.T) {
	child := startView(t, nil)
	id := child.current()
	child.Stop()
	wantBoth(t, "stopped", id, "alive process-running")
	for _, f := range []identity.Finding{identity.Judge(id), identity.JudgeOn(starts, id)} {
		if !strings.HasSuffix(f.Sentence, "is stopped") {
			t.Errorf("%v", f)
		}
	}
	stopped := of(t, child.PID())
	if evidenceOnly(stopped) != evidenceOnly(id) {
		t.Errorf("%v, and %v when it is stopped", id, stopped)
	}
	child.Cont()
	if f := identity.Judge(id); !strings.HasSuffix(f.Sentence, "is running") {
		t.Errorf("%v", f)
	}
}

// A process whose first thread has ended looks like a zombie, and goes on.
func TestDeadLeader(t *testing.T) {
	child := probetest.Start(t, "dead-leader")
	child.Expect("dead")
	id := of(t, child.PID())
	wantBoth(t, "dead leader", id, "alive process-running")
	child.KillNoReap()
	wantBoth(t, "all dead", id, "gone process-exited")
}

func TestExecKeepsIdentity(t *testing.T) {
	child := startView(t, nil)
	before := child.current()
	child.Send("exec")
	child.Expect("ready")
	wantBoth(t, "after exec", before, "alive process-running")
	if after := child.current(); evidenceOnly(after) != evidenceOnly(before) {
		t.Errorf("%v, then %v", before, after)
	}
}

func TestThreadsAreNoProcesses(t *testing.T) {
	child := startView(t, nil)
	tid, err := strconv.Atoi(child.Ask("thread"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range []int{tid, otherThread()} {
		for _, sys := range []probe.System{probe.Real(), starts} {
			id, err := identity.OfOn(sys, tid)
			if !errors.Is(err, identity.ErrNoProcess) {
				t.Errorf("thread %d: %v, %v", tid, id, err)
			}
		}
	}
	// A record that says the number was a process: it is one no more.
	id := child.current()
	id.PID = tid
	wantBoth(t, "thread", id, "gone no-such-process")
	if !strings.Contains(evidenceOf(identity.Judge(id)), "is only a thread") {
		t.Errorf("%+v", identity.Judge(id))
	}
}

// A record about a living process in which one thing is wrong or missing is never gone (B04, B20).
func TestForgedRecords(t *testing.T) {
	type id = identity.Identity
	for name, tt := range map[string]struct {
		change         func(*id)
		want, byStarts string
	}{
		"no start":       {func(i *id) { i.Start = "" }, "alive", "unknown"},
		"other kind":     {func(i *id) { i.Start = "usec:1.000000" }, "alive", "unknown"},
		"no pidfd":       {func(i *id) { i.PIDFD = 0 }, "alive", "alive"},
		"only a number":  {func(i *id) { *i = id{OS: "linux", PID: i.PID} }, "unknown", "unknown"},
		"nothing exact":  {func(i *id) { i.PIDFD, i.Start = 0, "" }, "unknown", "unknown"},
		"no boot":        {func(i *id) { i.Boot = "" }, "unknown", "unknown"},
		"other boot":     {func(i *id) { i.Boot = otherBoot }, "unknown", "unknown"},
		"no namespace":   {func(i *id) { i.PIDNS = 0 }, "unknown", "unknown"},
		"no time ns":     {func(i *id) { i.TimeNS = 0 }, "alive", "unknown"},
		"other system":   {func(i *id) { i.OS = "darwin" }, "unknown", "unknown"},
		"number 0":       {func(i *id) { i.PID = 0 }, "unknown", "unknown"},
		"number -1":      {func(i *id) { i.PID = -1 }, "unknown", "unknown"},
		"above PID_MAX":  {func(i *id) { i.PID = 4<<20 + 1 }, "unknown", "unknown"},
		"larger than 31": {func(i *id) { i.PID = 1<<31 - 1 }, "unknown", "unknown"},
	} {
		id := current(t)
		tt.change(&id)
		want := tt.want
		if !hasPIDFD() {
			want = tt.byStarts
		}
		if f := identity.Judge(id); f.Verdict.String() != want {
			t.Errorf("%s: %v, want %s", name, f, want)
		}
		if f := identity.JudgeOn(starts, id); f.Verdict.String() != tt.byStarts {
			t.Errorf("%s, by start: %v, want %s", name, f, tt.byStarts)
		}
	}
}
