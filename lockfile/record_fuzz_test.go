package lockfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// deadAround is what is seen where nothing speaks for life: nobody has a kernel lock, no process
// has any number, on a local filesystem and the machine of the golden record.
func deadAround(c identity.Claim) identity.Observation {
	host := probe.Host{OS: "linux"}
	host.Boot.ID = probe.Known(c.Owner.Boot, "test")
	host.Namespaces.PID = probe.Known(c.Owner.PIDNS, "test")
	host.Namespaces.PIDInitial = probe.Known(true, "test")
	return identity.Observation{
		Host: host, HostID: c.HostID, File: c.File, KernelLock: identity.LockFree,
		Filesystem: probe.Filesystem{Type: probe.Known(c.File.FS, "test"), Local: true},
		Process:    probe.Process{PID: c.Owner.PID, Presence: probe.Missing},
	}
}

// Whatever the bytes at S.lock are: what is no record is never gone, what is torn is gone only
// where nobody has it open, and what is a record is held while its kernel lock is.
func FuzzVerdictOfBytes(f *testing.F) {
	for _, content := range goldenRecords(f) {
		f.Add(content)
		f.Add(content[:len(content)/3])
		f.Add(append(bytes.Clone(content[:len(content)/2]), make([]byte, 50)...))
		f.Add(bytes.Replace(content, []byte(`"v"`), []byte(`"V"`), 1))
		f.Add(bytes.Replace(content, []byte(`"pid"`), []byte(`"pid":1,"pid"`), 1))
	}
	f.Add([]byte(strings.Repeat("0123456789abcdef", 3)))
	f.Fuzz(func(t *testing.T, content []byte) {
		d := lockfile.DecodeRecord(content)
		claim := d.Claim
		switch {
		case d.Torn:
			claim = identity.Claim{Form: identity.Torn, Flaw: d.Reason}
		case d.Reason != "":
			claim = identity.Claim{Form: identity.Unusable, Flaw: d.Reason}
		}
		dead := deadAround(d.Claim)
		decide := func(change func(*identity.Observation)) identity.Finding {
			seen := dead
			change(&seen)
			return identity.Decide(claim, seen, identity.Policy{})
		}
		f := decide(func(*identity.Observation) {})
		switch {
		case d.Reason != "" && f.Verdict != identity.Unknown:
			t.Errorf("%q is no record, and %v", content, f)
		case d.Reason == "" && !isStrict(content):
			t.Errorf("accepted, and something is named twice: %q", content)
		}
		if d.Torn {
			f := decide(func(o *identity.Observation) { o.Opened = true })
			g := decide(func(o *identity.Observation) {
				o.Scanned, o.Openers.Incomplete = true, errors.New("one could not be asked")
			})
			h := decide(func(o *identity.Observation) {
				o.Alone, o.Filesystem.Local = true, false
			})
			if f.Verdict != identity.Unknown || g.Verdict != identity.Unknown ||
				h.Verdict != identity.Unknown {
				t.Errorf("torn: open %v, scan incomplete %v, shared %v", f, g, h)
			}
		}
		held := decide(func(o *identity.Observation) { o.KernelLock = identity.LockHeld })
		if held.Verdict != identity.Alive {
			t.Errorf("held, and %v", held)
		}
	})
}

// isStrict says by other means whether no object in a JSON text names anything twice, whatever the
// case.
func isStrict(content []byte) bool {
	d := json.NewDecoder(bytes.NewReader(content))
	var value func() bool
	value = func() bool {
		t, err := d.Token()
		open, nested := t.(json.Delim)
		if err != nil || !nested {
			return err == nil
		}
		var seen []string
		ok := true
		for d.More() {
			if open == '{' {
				key, err := d.Token()
				if err != nil {
					return false
				}
				name := key.(string)
				for _, other := range seen {
					ok = ok && !strings.EqualFold(name, other)
				}
				seen = append(seen, name)
			}
			ok = value() && ok
		}
		_, err = d.Token()
		return ok && err == nil
	}
	return value()
}

// A log is what anybody may have appended to: every line is either read or counted, no number in it
// is above what a fence can hold, and what was read is written and read again without a change.
func FuzzLog(f *testing.F) {
	entry := `{"at":"2026-11-30T06:39:27.914Z","event":"takeover","recoveredPid":4711,"reason":` +
		`"no-such-process","fence":3,"host":"vm","lockID":"9f2c41d07be3a655","by":"process 1",` +
		`"verdict":"gone","evidence":[{"sentence":"the kernel knows no process 4711"}]}`
	for _, s := range []string{entry, entry + "\n" + entry[:60], `{"fence":1}`,
		`{"at":1796020767791,"recoveredPid":9448,"reason":"dead","fence":4,"host":"vm"}`,
		`{"fence":-1}`, `{"fence":1e3}`, `{"fence":9007199254740992}`, "\n\n \n", "\x00\x00\n{}",
		`{"fence":"7"}`, `{"fence":07}`, `{"at":1e300,"fence":1}`, `{"verdict":"x","fence":1}`,
		`{"at":-1e18,"fence":2}`} {
		f.Add([]byte(s))
	}
	state := newState(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		noError(t, os.WriteFile(state+".recovery.log", content, 0o600))
		entries, unreadable := readLog(t, state)
		lines := 0
		for line := range bytes.SplitSeq(content, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if len(entries)+unreadable != lines {
			t.Fatalf("%d entries and %d unreadable lines of %d", len(entries), unreadable, lines)
		}
		var again []byte
		for _, e := range entries {
			if e.Fence > fence.Max {
				t.Fatalf("fence %d", e.Fence)
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", e, err)
			}
			again = append(append(again, line...), '\n')
		}
		noError(t, os.WriteFile(state+".recovery.log", again, 0o600))
		back, unreadable := readLog(t, state)
		if unreadable != 0 || len(back) != len(entries) {
			t.Fatalf("%d entries and %d unreadable lines of %d", len(back), unreadable,
				len(entries))
		}
		for i, e := range back {
			was := entries[i]
			if e.Fence != was.Fence || e.Event != was.Event || e.RecoveredPID != was.RecoveredPID ||
				e.Reason != was.Reason || e.LockID != was.LockID || !e.At.Equal(was.At) {
				t.Fatalf("%+v became %+v", was, e)
			}
		}
	})
}
