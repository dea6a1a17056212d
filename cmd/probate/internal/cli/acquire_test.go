package cli

import (
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

func TestWaitingLineNamesTheOwner(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	owner := &lockfile.Owner{PID: 4711, Program: "importer", Label: "nightly import",
		Since: time.Date(2026, 11, 30, 6, 39, 27, 0, time.Local)}
	alive := identity.Finding{Verdict: identity.Alive,
		Sentence: "an owner holds the kernel lock on the record"}
	for _, c := range []struct {
		in   lockfile.Inspection
		want string
	}{
		{lockfile.Inspection{Finding: alive, Owner: owner},
			`waiting for state.json: held by process 4711 (importer, "nightly import") since 06:39:27`},
		{lockfile.Inspection{Finding: alive},
			"waiting for state.json: held: an owner holds the kernel lock on the record"},
		{lockfile.Inspection{Finding: alive, Owner: &lockfile.Owner{PID: 1, Program: "importer",
			OS: "linux", PIDNamespace: 4026532178, Host: "build-7", Since: owner.Since}},
			"waiting for state.json: held by process 1 (importer), pid namespace 4026532178, " +
				"on build-7 since 06:39:27"},
		{lockfile.Inspection{Owner: owner,
			Finding: identity.Finding{Sentence: "other machines may mount this"}},
			"waiting for state.json: unknown: other machines may mount this"},
	} {
		if got := waitingLine("state.json", c.in, now); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestDurationReadsSecondsToo(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1m30s": 90 * time.Second, "5": 5 * time.Second, "0": 0,
		"50ms": 50 * time.Millisecond,
	} {
		var d duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v (%v), want %v", text, time.Duration(d), err, want)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "1.5", "99999999999999999999", "1e3"} {
		var d duration
		if err := d.Set(text); err == nil {
			t.Errorf("%q is taken for %v", text, time.Duration(d))
		}
	}
}
