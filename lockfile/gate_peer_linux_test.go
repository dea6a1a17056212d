//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"golang.org/x/sys/unix"
)

// Between the last look at a dead owner's record and the moment in which it is replaced, only
// somebody who ignores the gate can change it. What such a one has put there goes back to its
// place.

// theirs is a record that a program in another language would write, of the running test.
func theirs(t *testing.T, state string) string {
	t.Helper()
	record := content(t, state+".lock")
	before, _, ok := strings.Cut(record, `,"proof"`)
	if !ok {
		t.Fatalf("the record is %s", record)
	}
	_, pid, _ := strings.Cut(before, `"pid":`)
	pid, _, _ = strings.Cut(pid, ",")
	return strings.NewReplacer(leaseOf(t, state), strings.Repeat("ab", 24),
		`"pid":`+pid, `"pid":`+strconv.Itoa(os.Getpid())).Replace(before) + "}"
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	noError(t, unix.Lstat(path, &st))
	return st.Ino
}

// A peer takes the dead record away and makes its own, at the last moment.
func TestPeerIsFaster(t *testing.T) {
	for name, lacking := range map[string][]string{
		"exchange": nil, "no exchange": {"exchange"}, "no renames": {"exchange", "rename-noreplace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			abandon(t, state)
			at := "exchange"
			if lacking != nil {
				at = "rename state.lock state.lock."
			}
			record := theirs(t, state)
			child := startActor(t, state)
			goOn := park(t, child, state, "try", at, lacking...)
			noError(t, replace(state+".lock", record))
			inode := inodeOf(t, state+".lock")
			said := goOn()
			if strings.HasPrefix(said, "held ") {
				t.Errorf("it took a peer's lock: %s", said)
			}
			if text := content(t, state+".lock"); text != record ||
				inodeOf(t, state+".lock") != inode {
				t.Errorf("the peer's record is another file now: %s", text)
			}
			noLeftoversBut(t, state, "state.lock")
			entries, unreadable := readLog(t, state)
			if len(entries) < 2 || unreadable != 0 || entries[0].Event != lockfile.EventTakeover ||
				entries[1].Event != lockfile.EventAbandoned ||
				entries[1].Fence != entries[0].Fence {
				t.Errorf("logged: %+v", entries)
			}
			noError(t, os.Remove(state+".lock"))
			if _, token, _ := tenureOf(t, child.Ask("try")); token != counterOf(t, state) {
				t.Errorf("token %d, fence %d", token, counterOf(t, state))
			}
		})
	}
}

// A person removes the dead record at the last moment: the name is free, and the takeover goes on.
func TestRecordIsRemoved(t *testing.T) {
	for name, lacking := range map[string][]string{"exchange": nil, "no exchange": {"exchange"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			abandon(t, state)
			at := "exchange"
			if lacking != nil {
				at = "rename state.lock state.lock."
			}
			child := startActor(t, state)
			goOn := park(t, child, state, "try", at, lacking...)
			noError(t, os.Remove(state+".lock"))
			if _, token, recovered := tenureOf(t, goOn()); token != 1 || !recovered {
				t.Errorf("token %d, recovered %v", token, recovered)
			}
			expect(t, child, "check", "ok")
			noLeftoversBut(t, state, "state.lock")
		})
	}
}

// A person removes the dead record, and somebody acquires the free lock before the takeover goes
// on: the newcomer keeps its file, and is told that it is fenced. No two of them commit.
func TestNewcomerSlipsIn(t *testing.T) {
	t.Parallel()
	state := newState(t)
	abandon(t, state)
	sleeper, newcomer := startActor(t, state), startActor(t, state)
	goOn := park(t, sleeper, state, "try", "exchange")
	noError(t, os.Remove(state+".lock"))
	id, _, _ := tenureOf(t, newcomer.Ask("try"))
	inode := inodeOf(t, state+".lock")
	if said := goOn(); !strings.HasPrefix(said, "busy ") {
		t.Errorf("the sleeper: %s", said)
	}
	if in := inspect(t, state); in.LockID != id || in.Verdict != identity.Alive ||
		inodeOf(t, state+".lock") != inode {
		t.Errorf("%v", in.Finding)
	}
	switch said := newcomer.Ask("write text"); said {
	case "ok": // it read the counter after the takeover had raised it
	case "fenced":
		expect(t, newcomer, "release", "fenced")
	default:
		t.Errorf("the newcomer: %s", said)
	}
	newcomer.Kill()
	if _, token, _ := tenureOf(t, sleeper.Ask("acquire 1m")); token < 1 {
		t.Errorf("token %d", token)
	}
	expect(t, sleeper, "write last", "ok")
	expect(t, sleeper, "release", "ok")
	noLeftovers(t, state)
}

// The peer's record cannot be given back by a second exchange: it replaces what was put in its
// place.
func TestRecordIsGivenBackOtherwise(t *testing.T) {
	t.Parallel()
	state, record, said, _ := notGivenBack(t, "exchange")
	if !strings.HasPrefix(said, "busy") || content(t, state+".lock") != record {
		t.Errorf("%s; at the lock's path stands %s", said, content(t, state+".lock"))
	}
}

// The peer's record cannot be given back at all: the error says where it lies, it is not lost, and
// nobody is locked out by a record that nobody holds.
func TestRecordCannotBeGivenBack(t *testing.T) {
	t.Parallel()
	state, record, said, k := notGivenBack(t, "exchange", "rename")
	wantText(t, said, "failed io", state, "give a record back", "input/output error")
	_, rest, _ := strings.Cut(said, "it lies at ")
	lies, _, ok := strings.Cut(rest, ")")
	if !ok || content(t, lies) != record {
		t.Errorf("%s: %q is not the peer's record", said, lies)
	}
	k.meanwhile(func() {
		if in := inspect(t, state); in.Verdict != identity.Free {
			t.Errorf("nobody holds it, and yet %v", in.Finding)
		}
	})
}

// notGivenBack has a peer put its record in the place of a dead one right before the exchange of a
// takeover, and lets every later step with one of those verbs fail.
func notGivenBack(t *testing.T, verbs ...string) (state, record, said string, k *tap) {
	t.Helper()
	state = newState(t)
	abandon(t, state)
	record = theirs(t, state)
	child := startActor(t, state)
	k = newTap(t, child, strings.TrimSuffix(state, "/state"), child.Ask("tap"))
	child.Send("try")
	exchanged := false
	k.run(func(s step) unix.Errno {
		switch {
		case !exchanged && s.verb() == "exchange":
			exchanged = true
			noError(t, replace(state+".lock", record))
		case exchanged && slices.Contains(verbs, s.verb()):
			return unix.EIO
		}
		return 0
	})
	return state, record, child.Line(), k
}
