package lockfile_test

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// Whatever a system says about itself, the record that is made of it can be read again: an owner
// whose own record is damaged could never be named, and never be proven gone.
func TestRecordOwnIsReadable(t *testing.T) {
	unread := errors.New("not known here")
	for name, change := range map[string]func(*probetest.System){
		"everything known": func(*probetest.System) {},
		"nothing known": func(s *probetest.System) {
			s.SelfProcess = probetest.Absent(probetest.SelfPID, probe.PresenceUnknown, unread)
			s.HostFacts = probe.Host{OS: "plan9"}
			s.FS = probe.Filesystem{Type: probe.Unknown[string]("test", unread),
				ID: probe.Unknown[string]("test", unread)}
		},
		"filesystem not known": func(s *probetest.System) {
			s.FS = probe.Filesystem{Type: probe.Unknown[string]("test", unread)}
		},
		// A board without a battery begins in 1970, and a little later was started a little before.
		"clock at its beginning": func(s *probetest.System) {
			s.HostFacts.Boot.StartedAt = probe.Known(time.UnixMilli(-3), "test")
			s.SelfProcess.StartedAt = probe.Known(time.UnixMilli(-1), "test")
		},
		"clock far ahead": func(s *probetest.System) {
			at := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
			s.HostFacts.Boot.StartedAt = probe.Known(at, "test")
		},
		"large inodes": func(s *probetest.System) {
			s.SelfProcess.PIDFD = probe.Known[uint64](math.MaxUint64, "test")
			s.HostFacts.Namespaces.PID = probe.Known[uint64](1<<53, "test")
			s.HostFacts.Namespaces.Time = probe.Known[uint64](1<<60, "test")
		},
		"names in any bytes": func(s *probetest.System) {
			name := "h\xff\x00\n\x1b[31m\u2028" + strings.Repeat("é", 64)
			s.HostFacts.Machine.Host = probe.Known(name, "test")
		},
	} {
		t.Run(name, func(t *testing.T) {
			system := probetest.New()
			change(system)
			content, err := lockfile.NewRecord(lockfile.Options{}, system, "")
			if err != nil {
				t.Fatal(err)
			}
			d := lockfile.DecodeRecord(content)
			if d.Reason != "" {
				t.Fatalf("%s: %v\n%s", d.Reason, d.Detail, content)
			}
			if d.Claim.Owner.PID != probetest.SelfPID {
				t.Errorf("owner %+v", d.Claim.Owner)
			}
		})
	}
}

// A clock that was far ahead leaves nothing in the records that are written when it is right.
func TestRecordAfterTheClock(t *testing.T) {
	far, now := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<31, 0)
	for _, times := range [][2]time.Time{{far, now}, {now, far}, {now, now.Add(time.Hour)}} {
		if got, want := lockfile.RecordAfter(probetest.New(), times[0], times[1]); got != want {
			t.Errorf("%v after %v:\n%s\nwant\n%s", times[1], times[0], got, want)
		}
	}
}

// Times that a record cannot hold are refused before anything is written.
func TestRecordExpectedUntil(t *testing.T) {
	dir := t.TempDir()
	for _, until := range []time.Time{
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Unix(1<<55, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC),
	} {
		state := filepath.Join(dir, "state")
		lock, err := lockfile.TryAcquire(state, lockfile.Options{ExpectedUntil: until})
		if err != nil {
			if !strings.Contains(err.Error(), "ExpectedUntil") {
				t.Errorf("%v: %v", until, err)
			}
			continue
		}
		in, err := lockfile.Inspect(state, lockfile.Options{})
		if err != nil || in.Owner == nil || !in.Owner.ExpectedUntil.Equal(until) {
			t.Errorf("%v: owner %+v, %v, %v", until, in.Owner, in.Finding, err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// Peers misread records of 2048 bytes and more. A label that needs more is refused, and says so.
func TestRecordLength(t *testing.T) {
	dir := t.TempDir()
	for name, char := range map[string]string{
		"plain": "a", "quotes": `"`, "backslashes": `\`, "line separators": "\u2028",
		"emoji": "😀", "angle": "<", "replacement": "\ufffd", "umlauts": "ü",
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(dir, "state")
			label := strings.Repeat(char, 200)
			lock, err := lockfile.TryAcquire(state, lockfile.Options{Label: label,
				ExpectedUntil: time.Now().Add(time.Hour)})
			if err != nil {
				if !strings.Contains(err.Error(), "Options.Label") || char != "\u2028" {
					t.Errorf("%v", err)
				}
				if left, _ := filepath.Glob(dir + "/*.lock*"); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
				return
			}
			defer lock.Release()
			content, err := readShared(lock.Path())
			if err != nil || len(content) >= 2048 {
				t.Errorf("%d bytes, %v", len(content), err)
			}
			t.Logf("%d bytes", len(content))
			in, err := lockfile.Inspect(state, lockfile.Options{})
			if err != nil || in.Owner == nil || in.Owner.Label != label {
				t.Errorf("label %q, %v", in.Owner.Label, err)
			}
		})
	}
	// The longest names of program and host, with the most expensive characters.
	system := probetest.New()
	worst := strings.Repeat(`"`, 300)
	system.HostFacts.Machine.Host = probe.Known(worst, "test")
	content, err := lockfile.NewRecord(lockfile.Options{Label: strings.Repeat("\u2028", 200)},
		system, worst)
	if err == nil && len(content) >= 2048 ||
		err != nil && !strings.Contains(err.Error(), "Options.Label") {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	content, err = lockfile.NewRecord(lockfile.Options{Label: strings.Repeat(`"`, 200)}, system,
		worst)
	if err != nil || len(content) >= 2048 {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

func TestRecordLabelRefused(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, label := range []string{strings.Repeat("a", 201), "a\nb", "\x1b[31m", "\x00", "\x7f",
		"\u0085", "\xff"} {
		_, err := lockfile.TryAcquire(state, lockfile.Options{Label: label})
		if err == nil || !strings.Contains(err.Error(), "Options.Label") {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// Names from the system stand in the record as text that cannot do harm.
func TestRecordNames(t *testing.T) {
	system := probetest.New()
	system.HostFacts.Machine.Host = probe.Known("h\xff\n\x1b\u2028"+strings.Repeat("é", 64), "test")
	content, err := lockfile.NewRecord(lockfile.Options{}, system, "p\x00q")
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Program, Host string }
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	if r.Program != "p?q" {
		t.Errorf("program %q", r.Program)
	}
	if !strings.HasPrefix(r.Host, "h????") && !strings.HasPrefix(r.Host, "h???\u2028") ||
		len(r.Host) > 64 || !utf8.ValidString(r.Host) {
		t.Errorf("host %q", r.Host)
	}
}
