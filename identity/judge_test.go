package identity_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func wantFinding(t *testing.T, name string, f identity.Finding, want string) {
	t.Helper()
	checkFinding(t, f)
	if said(f) != want {
		t.Errorf("%s: %s, want %s: %+v", name, said(f), want, f)
	}
}

// evidenceOf returns all that a finding says to people.
func evidenceOf(f identity.Finding) string {
	lines := []string{f.Sentence}
	for _, e := range f.Evidence {
		lines = append(lines, e.Sentence)
	}
	return strings.Join(lines, "\n")
}

// Row 1.
func TestNoRecord(t *testing.T) {
	for _, flip := range flips {
		w := recorded().with(flip.change, func(w *world) { w.c.Form = identity.NoRecord })
		wantFinding(t, flip.name, w.decide(), "free")
	}
}

// The zero value of everything is an unknown owner.
func TestZero(t *testing.T) {
	if f := new(world).decide(); f.Verdict != identity.Unknown {
		t.Errorf("%+v", f)
	}
	if f := (identity.Finding{}); f.Verdict != identity.Unknown || f.String() != "unknown" {
		t.Errorf("%v", f)
	}
	f := identity.JudgeOn(probetest.New(), identity.Identity{})
	wantFinding(t, "zero stamp", f, "unknown nothing-recorded")
	for form := range identity.Stamp + 1 {
		f := new(world).with(func(w *world) { w.c.Form = form }).decide()
		if want := form == identity.NoRecord; (f.Verdict == identity.Free) != want ||
			!want && f.Verdict != identity.Unknown {
			t.Errorf("form %d: %v", form, f)
		}
	}
}

// Rows 2 and 4.
func TestUnusable(t *testing.T) {
	for _, flaw := range []identity.Reason{
		identity.RecordNotRegular, identity.RecordTooLarge, identity.RecordNewer,
		identity.RecordLeaseV1, identity.RecordDamaged, identity.RecordForeign,
		identity.RecordUnreadable, identity.RecordChanging, identity.NotPermitted,
	} {
		unusable := recorded().with(func(w *world) {
			w.c = identity.Claim{Form: identity.Unusable, Flaw: flaw}
			w.o.Scanned = true // and nobody has it open: a proof for torn records only
		})
		for _, flip := range flips {
			want := "unknown " + string(flaw)
			switch flip.name {
			case "kernel lock held":
				want = "alive kernel-lock-held"
			case "untrusted":
				want = "unknown record-untrusted"
			}
			wantFinding(t, flip.name, unusable.with(flip.change).decide(), want)
		}
		f := unusable.with(lock(identity.LockHeld), untrusted).decide()
		wantFinding(t, "held and untrusted", f, "alive kernel-lock-held")
	}
}

// Rows 2 and 3. All combinations of what the row depends on.
func TestTorn(t *testing.T) {
	incomplete := errors.New("/proc/812/fd: permission denied")
	somebody := probe.Opener{PID: 812, Name: "indexer"}
	torn := recorded().with(func(w *world) { w.c = identity.Claim{Form: identity.Torn} })
	for _, flaw := range []identity.Reason{
		identity.RecordEmpty, identity.RecordNUL, identity.RecordCutShort,
	} {
		for n := range 1 << 7 {
			is := func(bit int) bool { return n>>bit&1 == 1 }
			local, scanned, complete, open, trusted := is(0), is(1), is(2), is(3), is(4)
			alone, opened := is(5), is(6) // what the kernel says by itself
			for _, state := range []identity.LockState{
				identity.LockHeld, identity.LockFree, identity.LockUntested,
			} {
				w := torn.with(lock(state), func(w *world) {
					w.c.Flaw = flaw
					w.o.Filesystem.Local = local
					w.o.Scanned, w.o.Alone, w.o.Opened = scanned, alone, opened
					if !complete {
						w.o.Openers.Incomplete = incomplete
					}
					if open {
						w.o.Openers.Found = []probe.Opener{somebody}
					}
					if !trusted {
						untrusted(w)
					}
				})
				want := "unknown " + string(flaw)
				switch {
				case state == identity.LockHeld:
					want = "alive kernel-lock-held"
				case !trusted:
					want = "unknown record-untrusted"
				case local && (alone || !opened && scanned && complete && !open):
					want = "gone record-orphaned"
				}
				f := w.decide()
				wantFinding(t, "torn", f, want)
				if want != "unknown "+string(flaw) || !local || !scanned {
					continue
				}
				if open && !strings.Contains(evidenceOf(f), "process 812 (indexer)") {
					t.Errorf("who has it open is not said: %+v", f)
				}
				if opened && !open && !strings.Contains(evidenceOf(f), "somebody has it open") {
					t.Errorf("that somebody has it open is not said: %+v", f)
				}
				if !opened && !open && f.Evidence[0].Err != incomplete.Error() {
					t.Errorf("why the scan is not complete is not said: %+v", f)
				}
			}
		}
	}
}

// Systems other than Linux have no namespaces, and start values of their own kinds.
func TestOtherSystems(t *testing.T) {
	for os, starts := range map[string][2]probe.Start{
		"darwin":  {"usec:1796019800.000123", "usec:1796019800.000124"},
		"windows": {"filetime:134260000000000001", "filetime:134260000000000002"},
	} {
		w := stamped().with(noPIDFD, recordedOS(os), pidNSRecorded(0), timeNSRecorded(0),
			pidNSUnseen, timeNSUnseen, startRecorded(starts[0]), startSeen(starts[0]),
			func(w *world) { w.o.Host.OS = os })
		wantFinding(t, os, w.decide(), "alive process-running")
		wantFinding(t, os, w.with(startSeen(starts[1])).decide(), "gone pid-reused")
		wantFinding(t, os, w.with(startSeen(ownerStart)).decide(), "unknown start-unreadable")
		wantFinding(t, os, w.with(presence(probe.Exited)).decide(), "gone process-exited")
		wantFinding(t, os, w.with(absent(probe.Missing)).decide(), "gone no-such-process")
		wantFinding(t, os, w.with(recordedOS("linux")).decide(), "unknown other-os")
	}
}

func TestSentences(t *testing.T) {
	missing := absent(probe.Missing)
	for name, tt := range map[string]struct {
		world *world
		want  []string // all of them in what is said to people
	}{
		"running": {recorded(), []string{"process 4711 (importer) is running", "same boot as now"}},
		"stopped": {recorded().with(state("stopped")),
			[]string{"process 4711 (importer) is stopped"}},
		"traced": {stamped().with(state("traced")), []string{"is traced"}},
		"held, stopped": {recorded().with(lock(identity.LockHeld), state("stopped")),
			[]string{"process 4711 (importer) is stopped", "kernel lock on the record is held"}},
		"held by children": {recorded().with(lock(identity.LockHeld), missing),
			[]string{"process 4711 (importer) is gone, but something that it started still holds"}},
		"held, nothing else known": {recorded().with(lock(identity.LockHeld), bootNotGenuine),
			[]string{"process 4711 (importer) holds the kernel lock"}},
		"lock free": {recorded().with(missing),
			[]string{"kernel lock on this very file is free, and its owner held it (ext4, local)",
				"the kernel knows no process 4711"}},
		"no lock": {recorded().with(noLockClaimed, missing), []string{"recorded no kernel lock"}},
		"copy": {recorded().with(fileSeen(identity.FileID{FS: "ext4", ID: "a", Inode: 1}), missing),
			[]string{"the record lies in another file than the one that it was written to"}},
		"lock untested": {recorded().with(lock(identity.LockUntested), missing,
			func(w *world) { w.o.LockErr = errDenied }), []string{"permission denied"}},
		"reused by start": {stamped().with(noPIDFD, anotherProcess),
			[]string{"recorded ticks:15234, now ticks:90001", "process 4711 (cron) is another"}},
		"reused by pidfd": {stamped().with(anotherProcess),
			[]string{"recorded pidfd:2042, now pidfd:9001"}},
		"thread": {stamped().with(absent(probe.ThreadOnly)), []string{"is only a thread"}},
		"shared": {recorded().with(readerShared, missing), []string{"the filesystem is nfs"}},
		"owner's view shared": {recorded().with(ownerShared, missing,
			fileRecorded(identity.FileID{FS: "virtiofs", Inode: 77})),
			[]string{"the owner saw the filesystem as virtiofs"}},
		"other boot": {stamped().with(bootRecorded(otherBoot)), []string{"under another boot"}},
		"untrusted":  {recorded().with(untrusted), []string{"others than its owner may write it"}},
	} {
		f := tt.world.decide()
		checkFinding(t, f)
		for _, want := range tt.want {
			if text := evidenceOf(f); !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text)
			}
		}
	}
}

// A name that somebody gave a process must not break lines, terminals or JSON.
func TestUglyNames(t *testing.T) {
	for _, name := range []string{
		") Z 1 (\n 9", "\xff\xfe(\x80", "\x1b[2J", "a\u202eb", "a\u0085",
	} {
		w := recorded().with(anotherProcess, func(w *world) {
			w.c.Owner.Program = name
			w.o.Process.Name = probe.Known(name, "scripted")
			w.o.Openers.Found = []probe.Opener{{PID: 812, Name: name}}
			w.o.Scanned = true
		})
		torn := w.with(func(w *world) { w.c = identity.Claim{Form: identity.Torn} })
		for _, f := range []identity.Finding{w.decide(), torn.decide()} {
			for line := range strings.SplitSeq(evidenceOf(f), "\n") {
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Errorf("%q", line)
				}
			}
			if text, err := json.Marshal(f); err != nil || !json.Valid(text) {
				t.Errorf("%v: %s", err, text)
			}
			if !strings.Contains(evidenceOf(f), "?") {
				t.Errorf("%+v", f)
			}
		}
	}
}

// A number that means another process here, or none, is not even looked up.
func TestNumbersThatMustNotBeAsked(t *testing.T) {
	asks := func(change func(*world)) []int {
		w := stamped().with(change)
		sys := probetest.New()
		sys.HostFacts = w.o.Host
		f := identity.JudgeOn(sys, w.c.Owner)
		checkFinding(t, f)
		if len(sys.Asked()) == 0 && f.Verdict != identity.Unknown {
			t.Errorf("%v without asking", f)
		}
		return sys.Asked()
	}
	for name, change := range map[string]func(*world){
		"other boot": bootRecorded(otherBoot), "no boot": bootRecorded(""),
		"boot not genuine": bootNotGenuine, "other namespace": pidNSRecorded(otherNS),
		"no namespace": pidNSRecorded(0), "namespace unseen": pidNSUnseen,
		"other system": recordedOS("darwin"), "zero": pidRecorded(0), "negative": pidRecorded(-1),
		"lowest": pidRecorded(math.MinInt),
	} {
		if asked := asks(change); len(asked) != 0 {
			t.Errorf("%s: asked about %v", name, asked)
		}
	}
	for name, change := range map[string]func(*world){
		"same": all(), "no start": startRecorded(""),
		"other time namespace": timeNSRecorded(otherNS),
	} {
		if asked := asks(change); !slices.Equal(asked, []int{ownerPID}) {
			t.Errorf("%s: asked about %v", name, asked)
		}
	}
}

func TestWords(t *testing.T) {
	for v, want := range map[identity.Verdict]string{
		identity.Unknown: "unknown", identity.Alive: "alive", identity.Gone: "gone",
		identity.Free: "free", -1: "unknown", 99: "unknown",
	} {
		text, err := v.MarshalText()
		if v.String() != want || string(text) != want || err != nil {
			t.Errorf("%d: %q, %q, %v", v, v.String(), text, err)
		}
		var back identity.Verdict
		if err := back.UnmarshalText(text); err != nil || back.String() != want {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
	for _, text := range []string{"", "Gone", "gone ", "dead"} {
		v := identity.Alive
		if err := v.UnmarshalText([]byte(text)); err == nil || v != identity.Alive {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	f := identity.Finding{Verdict: identity.Gone, Reason: identity.NoSuchProcess}
	if f.String() != "gone: no-such-process" {
		t.Errorf("%v", f)
	}
}
