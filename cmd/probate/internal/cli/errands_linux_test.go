package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// errand is something that the command is told to do, and that may be cut short anywhere.
type errand struct {
	name string
	verb string // whose file operations count
	// before prepares the state and returns what else the command needs to be told, such as a lock
	before func(t *testing.T, d *desk) *client
	code   int      // with which CMD fails
	args   []string // of the command; STATE and ID stand for what they say
}

// client is a state with what is known of it before the errand.
type client struct {
	state  string
	holder *lockfile.Lock // lives, in this process
	was    lockfile.Inspection
	old    string // content of the state, "" for none
	torn   int    // lines of the log that could not be read before
	ran    string // what CMD of run leaves
	names  []string
}

const oldContent, newContent = "old\n", "new\n"

var errands = []errand{
	{name: "run, free", verb: "run", before: withNothing, args: runArgs},
	{name: "run, owner dead", verb: "run", before: withDeadOwner, args: runArgs},
	{name: "run, owner dead, log torn", verb: "run", before: withTornLog, args: runArgs},
	{name: "write, nothing there", verb: "write", before: withNothing,
		args: []string{"write", "STATE"}},
	{name: "write, owner dead", verb: "write", before: withDeadOwner,
		args: []string{"write", "STATE"}},
	{name: "write under run", verb: "write", before: withContent,
		args: []string{"run", "STATE", "--", "SELF", "write", "STATE"}},
	{name: "write of CMD, nothing there", verb: "write", before: withNothing, args: writeArgs},
	{name: "write of CMD, owner dead", verb: "write", before: withDeadOwner, args: writeArgs},
	{name: "write of CMD under run", verb: "write", before: withContent,
		args: append([]string{"run", "STATE", "--", "SELF"}, writeArgs...)},
	{name: "write of a failing CMD", verb: "write", before: withContent, code: 3,
		args: []string{"write", "STATE", "--", "sh", "-c", "echo new; exit 3"}},
	{name: "recover, owner dead", verb: "recover", before: withDeadOwner,
		args: []string{"recover", "STATE"}},
	{name: "recover, record torn", verb: "recover", before: withTornRecord,
		args: []string{"recover", "STATE"}},
	{name: "recover, free", verb: "recover", before: withContent,
		args: []string{"recover", "STATE"}},
	{name: "break, owner dead", verb: "break", before: withDeadOwner, args: breakArgs},
	{name: "break, owner alive", verb: "break", before: withLivingOwner,
		args: append([]string{"break", "--even-if-alive"}, breakArgs[1:]...)},
	{name: "break, foreign file", verb: "break", before: withForeignFile, args: breakArgs},
	{name: "inspect, free", verb: "inspect", before: withContent, args: inspectArgs},
	{name: "inspect, owner dead", verb: "inspect", before: withDeadOwner, args: inspectArgs},
	{name: "inspect, owner alive", verb: "inspect", before: withLivingOwner, args: inspectArgs},
	{name: "inspect, record torn", verb: "inspect", before: withTornRecord, args: inspectArgs},
	{name: "inspect, foreign file", verb: "inspect", before: withForeignFile, args: inspectArgs},
}

var (
	// CMD says under which lock it runs, with the record as it stands, and waits to be let go.
	runArgs = []string{"run", "STATE", "--", "sh", "-c",
		`cat -- "$PROBATE_LOCK" >"$0.part" && mv -- "$0.part" "$0"`, "RAN"}
	// The same, and what it writes is the new content.
	writeArgs = []string{"write", "STATE", "--", "sh", "-c",
		`cat -- "$PROBATE_LOCK" >"$0.part" && mv -- "$0.part" "$0" && echo new`, "RAN"}
	breakArgs   = []string{"break", "--lock-id", "ID", "--reason", "a test", "STATE"}
	inspectArgs = []string{"inspect", "STATE"}
)

func withNothing(t *testing.T, d *desk) *client { return newClient(t, d.free()) }

func withContent(t *testing.T, d *desk) *client {
	state := d.free()
	check(t, os.WriteFile(state, []byte(oldContent), 0o600))
	return newClient(t, state)
}

func withDeadOwner(t *testing.T, d *desk) *client {
	state := d.abandoned()
	check(t, os.WriteFile(state, []byte(oldContent), 0o600))
	return newClient(t, state)
}

func withTornLog(t *testing.T, d *desk) *client {
	state := d.abandoned()
	log := `{"at":"2026-11-30T06:39:27.914Z","event":"takeover","fence":3}` + "\n" + `{"at":"2026-1`
	check(t, os.WriteFile(state+".recovery.log", []byte(log), 0o600))
	c := newClient(t, state)
	c.torn = 1
	return c
}

func withTornRecord(t *testing.T, d *desk) *client {
	state := d.abandoned()
	check(t, os.Truncate(state+".lock", 40))
	return newClient(t, state)
}

func withForeignFile(t *testing.T, d *desk) *client {
	state := d.free()
	check(t, os.WriteFile(state+".lock", []byte("not ours\n"), 0o600))
	return newClient(t, state)
}

func withLivingOwner(t *testing.T, d *desk) *client {
	state := d.free()
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	check(t, err)
	check(t, lock.WriteFile(state, []byte(oldContent), 0o600))
	c := newClient(t, state)
	c.holder = lock
	return c
}

func newClient(t *testing.T, state string) *client {
	t.Helper()
	c := &client{state: state, was: look(t, state), ran: filepath.Dir(state) + ".ran"}
	content, err := os.ReadFile(state)
	if err == nil {
		c.old = string(content)
	}
	c.names = namesBeside(t, state)
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, state string) lockfile.Inspection {
	t.Helper()
	// A process that another test forks at this moment has every file of this one open until it
	// becomes its program, and a record that somebody has open is no orphan.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := lockfile.Inspect(state, lockfile.Options{})
	check(t, err)
	return in
}

func namesBeside(t *testing.T, state string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(state))
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// command returns the arguments for that state.
func (e *errand) command(c *client, self string) []string {
	var args []string
	for _, arg := range e.args {
		switch arg {
		case "STATE":
			arg = c.state
		case "ID":
			arg = c.was.LockID
		case "RAN":
			arg = c.ran
		case "SELF":
			arg = self
		}
		args = append(args, arg)
	}
	return args
}

// cutShort looks at what an errand left that did not come to its end, before anything else is done:
// the record is absent or whole, the state is the old or the new one, CMD ran under the lock if it
// ran.
func (e *errand) cutShort(t *testing.T, c *client) {
	t.Helper()
	in := look(t, c.state)
	unchanged := in.LockID == c.was.LockID && in.Verdict == c.was.Verdict
	switch {
	case in.Verdict == identity.Free, unchanged:
	case in.Verdict == identity.Gone && in.Format == "record-v2":
	case c.holder != nil && in.LockID == c.was.LockID && in.Verdict == identity.Alive:
	default:
		t.Errorf("the record is %v (%s)", in.Finding, in.Format)
	}
	c.oldOrNew(t, e)
	c.ranUnderLock(t)
	if logged := c.lastLogged(t); in.Fence.Counter > c.was.Fence.Counter &&
		in.Fence.Counter > logged {
		t.Errorf("the counter is at %d, the log ends with %d", in.Fence.Counter, logged)
	}
	if e.verb == "inspect" {
		if now := namesBeside(t, c.state); strings.Join(now, " ") != strings.Join(c.names, " ") ||
			!unchanged || in.Fence != c.was.Fence {
			t.Errorf("looking made of %q, %v: %q, %v", c.names, c.was.Finding, now, in.Finding)
		}
	}
}

func (c *client) content(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(c.state)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(content)
}

func (c *client) oldOrNew(t *testing.T, e *errand) {
	t.Helper()
	if now := c.content(t); now != c.old && (e.verb != "write" || e.code != 0 || now != newContent) {
		t.Errorf("the state is %q, it was %q", now, c.old)
	}
}

// ranUnderLock checks the record that CMD saw, if it ran.
func (c *client) ranUnderLock(t *testing.T) {
	t.Helper()
	seen, err := os.ReadFile(c.ran)
	if os.IsNotExist(err) {
		return
	}
	check(t, err)
	var record struct {
		Lease string `json:"lease"`
		Proof *struct{}
	}
	if err := json.Unmarshal(seen, &record); err != nil || len(record.Lease) != 48 ||
		record.Proof == nil {
		t.Errorf("CMD ran, and the record was %q: %v", seen, err)
	}
}

// restored checks that one plain recover or run is enough, by somebody who knows nothing of what
// happened, and that everything is in order afterwards: files bounded, the log readable, no number
// given twice.
func (e *errand) restored(t *testing.T, c *client, byRun bool) {
	t.Helper()
	left := look(t, c.state)
	var lastToken fence.Token // of the tenure that the next one must be above
	if left.Verdict == identity.Gone {
		lastToken = left.Fence.Record + 1
		if left.Owner == nil {
			lastToken = c.was.Fence.Counter + 1
		}
	}
	if c.holder != nil {
		lastToken = c.settle(t, left)
	} else if left.Verdict == identity.Unknown {
		_, err := lockfile.Break(context.Background(), c.state, lockfile.BreakRequest{
			LockID: left.LockID, Reason: "a test"}, lockfile.Options{})
		check(t, err)
	}
	if !byRun {
		if died, code, said := killed(t, as("probate", "recover", c.state)); died || code != 0 {
			t.Errorf("recover: exit code %d: %s", code, said)
		}
	}
	died, code, said := killed(t, as("probate", "run", "--no-wait", c.state, "--", "sh", "-c",
		"echo fence $PROBATE_FENCE"))
	var token fence.Token
	if _, after, ok := strings.Cut(said, "fence "); died || code != 0 || !ok {
		t.Errorf("run: exit code %d: %s", code, said)
	} else if i := strings.LastIndex(said, "fence "); i >= 0 {
		if err := json.Unmarshal([]byte(strings.TrimSpace(said[i+len("fence "):])), &token); err != nil {
			t.Errorf("run said %q (%q): %v", said, after, err)
		}
	}
	in := look(t, c.state)
	if in.Verdict != identity.Free || in.Fence.Counter != token || token < lastToken {
		t.Errorf("%v, counter %d, token %d, at least %d was due", in.Finding, in.Fence.Counter, token,
			lastToken)
	}
	c.oldOrNew(t, e)
	c.logIsWhole(t, in.Fence.Counter)
	c.bounded(t)
}

// settle lets the living holder of a lock that a person broke, or tried to, write and end: it has
// its lock, or is told that it has not, and never both.
func (c *client) settle(t *testing.T, left lockfile.Inspection) (due fence.Token) {
	t.Helper()
	err := c.holder.WriteFile(c.state, []byte(newContent), 0o600)
	fenced := left.Fence.Counter > c.holder.Token()
	if fenced != (err != nil) || (c.content(t) == newContent) != (err == nil) {
		t.Errorf("counter %d, token %d: write: %v, and the state is %q", left.Fence.Counter,
			c.holder.Token(), err, c.content(t))
	}
	if err == nil {
		c.old = newContent
	}
	if err := c.holder.Release(); (err != nil) != fenced {
		t.Errorf("release: %v", err)
	}
	if fenced {
		return c.holder.Token() + 1
	}
	return c.holder.Token()
}

func (c *client) logIsWhole(t *testing.T, counter fence.Token) {
	t.Helper()
	entries, unreadable, err := lockfile.ReadLog(c.state, lockfile.Options{})
	check(t, err)
	if unreadable > c.torn+1 {
		t.Errorf("%d lines of the log cannot be read", unreadable)
	}
	var last fence.Token
	abandoned := map[fence.Token]bool{}
	for _, entry := range entries {
		if entry.Fence <= last && entry.Event != lockfile.EventAbandoned {
			t.Errorf("number %d was logged after %d", entry.Fence, last)
		}
		last = max(last, entry.Fence)
		abandoned[entry.Fence] = abandoned[entry.Fence] || entry.Event == lockfile.EventAbandoned
	}
	// Numbers rise in takeovers and breaks only. One that was abandoned may never have been raised.
	used := last
	for used > counter && abandoned[used] {
		used--
	}
	if used != counter {
		t.Errorf("the counter is at %d, the log ends with %d", counter, last)
	}
}

func (c *client) lastLogged(t *testing.T) (last fence.Token) {
	t.Helper()
	entries, _, err := lockfile.ReadLog(c.state, lockfile.Options{})
	check(t, err)
	for _, entry := range entries {
		last = max(last, entry.Fence)
	}
	return last
}

func (c *client) bounded(t *testing.T) {
	t.Helper()
	markers, broken := 0, 0
	for _, name := range namesBeside(t, c.state) {
		switch {
		case name == "state", name == "state.fence", name == "state.recovery.log":
		case strings.HasPrefix(name, "state.recovered-"):
			markers++
		case strings.HasPrefix(name, "state.lock.broken-"):
			broken++
		default:
			t.Errorf("%s is left over", name)
		}
	}
	if markers > 3 || broken > 1 {
		t.Errorf("%d markers, %d broken records", markers, broken)
	}
}
