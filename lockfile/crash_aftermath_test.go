package lockfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// flushed makes the steps the same every time: nothing is flushed by a timer.
var flushed = knobs{Durability: lockfile.FlushFirst}

func abandoned(t *testing.T, state string) int {
	_, token := abandon(t, state)
	return token
}

// abandonedOften leaves a log whose last line is torn.
func abandonedOften(t *testing.T, state string) int {
	abandon(t, state)
	_, token := abandon(t, state)
	f, err := os.OpenFile(state+".recovery.log", os.O_APPEND|os.O_WRONLY, 0)
	noError(t, err)
	_, err = f.WriteString(`{"at":"2026-11-30T06:39:2`)
	noError(t, err)
	noError(t, f.Close())
	return token
}

// aftermath looks at what somebody left who was killed: used is the largest number that was handed
// out before, acked the content of the state that was acknowledged last. The next one acquires
// without a person, and nothing is left over.
func (k knobs) aftermath(t *testing.T, state string, used int, acked string) {
	if odd := leftovers(t, state); len(odd) > 3 {
		t.Errorf("left over at once: %q", odd)
	}
	in := inspect(t, state)
	switch {
	case in.Verdict == identity.Free:
	case in.Verdict == identity.Gone &&
		(in.Format == "record-v2" || in.Reason == identity.RecordOrphaned):
		used = max(used, int(in.Fence.Record))
	default:
		t.Errorf("the record is %v (%s)", in.Finding, in.Format)
	}
	switch text, err := os.ReadFile(state); {
	case acked == "nothing" && (err != nil || string(text) == "one"):
	case acked == "one" && (string(text) == "one" || string(text) == "two"):
	case acked == string(text):
	default:
		t.Errorf("the state is %q, %v; acknowledged was %q", text, err, acked)
	}
	next := startActor(t, state)
	_, token, recovered := tenureOf(t, next.Ask("acquire 1m"))
	if token < used || recovered && token <= used || token != counterOf(t, state) {
		t.Errorf("fence %d, recovered %v, counter %d: %d was handed out before", token, recovered,
			counterOf(t, state), used)
	}
	expect(t, next, "write after", "ok")
	expect(t, next, "release", "ok")
	noLeftovers(t, state)
	if temps, err := filepath.Glob(filepath.Join(filepath.Dir(state), "*.tmp")); err != nil ||
		len(temps) != 0 {
		t.Errorf("left over: %q, %v", temps, err)
	}
	if notes := inspect(t, state).Notes; len(notes) != 0 {
		t.Errorf("nothing of note happened, and yet: %q", notes)
	}
	_, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
	if noError(t, err); unreadable > 2 { // the one that was there before, and the one of the killed
		t.Errorf("%d lines of the log cannot be read", unreadable)
	}
	if k.FreshToken {
		return // numbers that were not taken over are not in the log
	}
	fencesGrow(t, state, token)
}

// afterBreaker looks at what a breaker left who was killed, and says what became of the holder of
// the tenure that it was to break.
func afterBreaker(t *testing.T, state, id string, holder *probetest.Child) (end string) {
	t.Helper()
	in := inspect(t, state)
	switch {
	case in.Verdict == identity.Alive && in.LockID == id && in.Fence.Counter == 0:
		end = "has it"
		expect(t, holder, "write late", "ok")
		expect(t, holder, "release", "ok")
	case in.Verdict == identity.Alive && in.LockID == id:
		end = "fenced"
		wantText(t, strings.Join(in.Notes, "\n"), "the counter is above the record")
		expect(t, holder, "write late", "fenced")
		expect(t, holder, "release", "fenced")
		if in := inspect(t, state); in.Verdict != identity.Free {
			t.Errorf("after the release: %v", in.Finding)
		}
	default:
		end = "broken"
		expect(t, holder, "write late", "fenced")
		expect(t, holder, "release", "fenced")
	}
	if text := content(t, state); (text == "late") != (end == "has it") {
		t.Errorf("the state is %q, the holder %s", text, end)
	}
	next := startActor(t, state)
	if _, token, _ := tenureOf(t, next.Ask("acquire 1m")); token == 0 && end != "has it" {
		t.Errorf("fence %d again", token)
	}
	expect(t, next, "release", "ok")
	noLeftovers(t, state)
	return end
}

// fencesGrow checks that no number was logged twice and none is above the log's. (I3, I7)
func fencesGrow(t probetest.TB, state string, inUse int) {
	t.Helper()
	entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	last := 0
	for _, e := range entries {
		if e.Event == lockfile.EventAbandoned {
			continue
		}
		if int(e.Fence) <= last {
			t.Fatalf("fence %d was handed out after %d", e.Fence, last)
		}
		last = int(e.Fence)
	}
	if last < inUse {
		t.Fatalf("fence %d is in use, the log knows %d", inUse, last)
	}
}
