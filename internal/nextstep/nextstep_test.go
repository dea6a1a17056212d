package nextstep

import (
	"os"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/probe"
)

var posix = shell.System{OS: "linux"}

// What stands for a reason in the advice is none.
func TestIsReason(t *testing.T) {
	for text, want := range map[string]bool{"": false, " ": false, why: false, "...": false,
		"?!": false, "é": true, "理": true, "٣": true, "x": true, "#4711": true, "\xff": false} {
		if got := IsReason(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Whatever was found, the last line ends in the command that is the right one for it.
func TestNext(t *testing.T) {
	const breakIt = `probate break --lock-id 0123456789abcdef --reason "…" 'a b'`
	for _, c := range []struct {
		verdict identity.Verdict
		reason  identity.Reason
		id      string
		says    string // anywhere
		ends    string
	}{
		{identity.Free, "", "", "free", "free"},
		{identity.Alive, identity.KernelLockHeld, "x", "who it is", "probate run --wait 60s 'a b' -- CMD"},
		{identity.Gone, identity.PIDReused, "x", "nothing by hand", "probate recover 'a b'"},
		{identity.Unknown, identity.RecordUnreadable, "x", "dmesg", "probate inspect 'a b'"},
		{identity.Unknown, identity.RecordChanging, "x", "again", "probate inspect 'a b'"},
		{identity.Unknown, identity.NotPermitted, "x", "root", "sudo probate inspect 'a b'"},
		{identity.Unknown, identity.SharedFilesystem, "x", "look on build-3", breakIt},
		{identity.Unknown, identity.OtherMachine, "x", "look on build-3", breakIt},
		{identity.Unknown, identity.OtherPIDNamespace, "x", "container", breakIt},
		{identity.Unknown, identity.RecordNotRegular, "x", "ls -ld", breakIt},
		{identity.Unknown, identity.RecordUntrusted, "x", "ls -ld", breakIt},
		{identity.Unknown, identity.RecordNewer, "x", "newer version", breakIt},
		{identity.Unknown, identity.RecordForeign, "x", "head -c", breakIt},
		{identity.Unknown, identity.RecordForeign, "", "head -c", "cat -v"},
		{identity.Unknown, identity.LegacyAmbiguous, "x", "owner: fuser -v", breakIt},
		{identity.Unknown, "never heard of", "x", "owner", breakIt},
	} {
		of := Case{Verdict: c.verdict, Reason: c.reason, State: "a b", Lock: "a b.lock",
			Owner: &identity.Identity{OS: "linux", PID: 1, Host: "build-3"}}
		if c.id != "" {
			of.LockID = "0123456789abcdef"
		}
		got := of.Next(probe.Real(), posix)
		all := strings.Join(got, " ")
		if line := of.Line(probe.Real(), posix); line != all {
			t.Errorf("%v, %s: in one line %q", c.verdict, c.reason, line)
		}
		if len(got) == 0 || !strings.Contains(all, c.says) || !strings.HasSuffix(all, c.ends) {
			t.Errorf("%v, %s: %q", c.verdict, c.reason, got)
		}
	}
}

// Where takeovers are off, the step says by what, and how to do it all the same.
func TestNextOff(t *testing.T) {
	gone := Case{Verdict: identity.Gone, State: "s", Off: "by an option"}
	if got := gone.Next(probe.Real(), posix); len(got) != 1 ||
		got[0] != "by an option; to take it over by hand: probate recover s" {
		t.Errorf("%q", got)
	}
	gone.OffByEnv = "by the environment"
	if got := gone.Next(probe.Real(), posix); len(got) != 2 ||
		got[1] != "env -u PROBATE_RECOVERY probate recover s" {
		t.Errorf("%q", got)
	}
}

// An owner that is stopped is not waited for: it will not go on by itself.
func TestNextStopped(t *testing.T) {
	owner := &identity.Identity{OS: "linux", PID: 4711, Start: "ticks:1"}
	for _, c := range []struct {
		state   probe.Fact[string]
		start   probe.Start
		verdict identity.Verdict
		stopped bool
	}{
		{probe.Fact[string]{Value: "stopped", Known: true}, "ticks:1", identity.Alive, true},
		{probe.Fact[string]{Value: "sleeping", Known: true}, "ticks:1", identity.Alive, false},
		{probe.Fact[string]{Value: "stopped"}, "ticks:1", identity.Alive, false},
		{probe.Fact[string]{Value: "stopped", Known: true}, "ticks:2", identity.Alive, false},
		{probe.Fact[string]{Value: "stopped", Known: true}, "ticks:1", identity.Unknown, false},
	} {
		of := Case{Verdict: c.verdict, State: "s", Lock: "s.lock", Owner: owner}
		of.Saw(&probe.Process{PID: 4711, Presence: probe.Running, State: c.state,
			Start: probe.Fact[probe.Start]{Value: c.start, Known: true}})
		got := of.Next(probe.Real(), posix)
		if line := of.Line(probe.Real(), posix); line != strings.Join(got, " ") {
			t.Errorf("in one line: %q", line)
		}
		if goesOn := got[len(got)-1] == "kill -CONT 4711"; goesOn != c.stopped {
			t.Errorf("%v, start %s, %v: %q", c.state, c.start, c.verdict, got)
		}
		if got := of.Next(probe.Real(), shell.System{OS: "windows"}); strings.Contains(
			strings.Join(got, " "), "kill") {
			t.Errorf("on Windows: %q", got)
		}
	}
}

// A process is shown by its number only where that number means the owner.
func TestWho(t *testing.T) {
	sys := probe.Real()
	me, err := identity.CurrentOn(sys)
	if err != nil {
		t.Fatal(err)
	}
	if me.Boot == "" || !identity.Comparable(me, sys.Host()) {
		t.Skip("this process has no identity that can be compared")
	}
	for name, c := range map[string]struct {
		change  func(*identity.Identity)
		verdict identity.Verdict
		number  bool
	}{
		"itself":               {func(*identity.Identity) {}, identity.Alive, true},
		"another start":        {func(id *identity.Identity) { id.Start += "1" }, identity.Alive, false},
		"another start, asked": {func(id *identity.Identity) { id.Start += "1" }, identity.Unknown, true},
		"another boot":         {func(id *identity.Identity) { id.Boot = "x" }, identity.Unknown, false},
		"another system":       {func(id *identity.Identity) { id.OS = "plan9" }, identity.Unknown, false},
	} {
		id := me
		c.change(&id)
		got := Case{Verdict: c.verdict, Lock: "l", Owner: &id}.Who(sys, posix)
		if number := got == posix.Process(os.Getpid()); number != c.number {
			t.Errorf("%s: %s", name, got)
		}
	}
}
