package identity_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func TestOfOn(t *testing.T) {
	sys := stamped().system()
	sys.Add(probetest.Absent(5001, probe.Missing, errDenied))
	sys.Add(probetest.Absent(5002, probe.ThreadOnly, errDenied))
	sys.Add(probetest.Absent(5003, probe.PresenceUnknown, errDenied))
	exited := ownerProcess()
	exited.PID, exited.Presence = 5004, probe.Exited
	sys.Add(exited)

	id, err := identity.OfOn(sys, ownerPID)
	want := stamped().c.Owner
	want.Host, want.StartedAt = "scripted", ownerProcess().StartedAt.Value
	if err != nil || id != want {
		t.Errorf("%v\n%+v\nwant\n%+v", err, id, want)
	}
	for pid, says := range map[int]string{
		5001: "process 5001: no such process (missing)", 5002: "(thread-only)", 5004: "(exited)",
		6000: "(missing)",
	} {
		id, err := identity.OfOn(sys, pid)
		if !errors.Is(err, identity.ErrNoProcess) || !strings.Contains(err.Error(), says) ||
			id != (identity.Identity{}) {
			t.Errorf("%d: %v, %+v", pid, err, id)
		}
	}
	for pid, says := range map[int]string{
		5003: "process 5003 cannot be looked at: scripted: permission denied",
		0:    "0 is not a process number", -1: "-1 is", math.MinInt: "is not a process number",
	} {
		id, err := identity.OfOn(sys, pid)
		if err == nil || errors.Is(err, identity.ErrNoProcess) ||
			!strings.Contains(err.Error(), says) || id != (identity.Identity{}) {
			t.Errorf("%d: %v, %+v", pid, err, id)
		}
	}
}

// Facts that cannot be read stay empty, and take away the evidence that they would give. What is
// left can be stored, and is never judged gone.
func TestPartialFacts(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*world)
		want   string
	}{
		"everything":      {all(), "alive process-running"},
		"no pidfd":        {pidfdUnknown, "alive process-running"},
		"no start":        {startUnreadable, "alive process-running"},
		"neither":         {all(pidfdUnknown, startUnreadable), "unknown start-unreadable"},
		"no boot":         {bootNotGenuine, "unknown boot-unreadable"},
		"no pid ns":       {pidNSUnseen, "unknown namespace-unreadable"},
		"no time ns":      {timeNSUnseen, "alive process-running"},
		"start only":      {all(pidfdUnknown, timeNSUnseen), "unknown namespace-unreadable"},
		"before 5.6":      {all(pidfdUnknown, noTimeNS), "alive process-running"},
		"pidfd too large": {pidfdSeen(1 << 53), "alive process-running"},
		"nothing": {all(pidfdUnknown, startUnreadable, bootNotGenuine, pidNSUnseen, timeNSUnseen,
			func(w *world) {
				w.o.Host.Machine.Host = probe.Unknown[string]("uname", errDenied)
				w.o.Process.Name = probe.Unknown[string]("stat", errDenied)
				w.o.Process.StartedAt = probe.Unknown[time.Time]("stat", errDenied)
			}), "unknown boot-unreadable"},
	} {
		sys := stamped().with(tt.change).system()
		sys.SelfProcess = sys.Processes[ownerPID]
		of, err := identity.OfOn(sys, ownerPID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		current, err := identity.CurrentOn(sys)
		if err != nil || current.Program == "" {
			t.Errorf("%s: %v, program %q", name, err, current.Program)
		}
		current.Program = of.Program // the one of this test here, the scripted one there
		if current != of {
			t.Errorf("%s: %+v and %+v", name, current, of)
		}
		text, err := json.Marshal(of)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var back identity.Identity
		if err := json.Unmarshal(text, &back); err != nil || !same(back, of) {
			t.Errorf("%s: %v, %+v", name, err, back)
		}
		wantFinding(t, name, identity.JudgeOn(sys, back), tt.want)
	}
}

// A process without a number, as a system without processes would say it.
func TestCurrentWithoutNumber(t *testing.T) {
	sys := probetest.New()
	sys.SelfProcess = probetest.Absent(0, probe.PresenceUnknown, errDenied)
	id, err := identity.CurrentOn(sys)
	if err == nil || !strings.Contains(err.Error(), "permission denied") ||
		id != (identity.Identity{}) {
		t.Errorf("%v, %+v", err, id)
	}
	sys.SelfProcess = probe.Process{}
	if _, err := identity.CurrentOn(sys); err == nil ||
		!strings.Contains(err.Error(), "nothing could be read") {
		t.Error(err)
	}
}

// Names are made fit for JSON and for one line of text; both forms say the same.
func TestNamesAreLabels(t *testing.T) {
	for name, want := range map[string]string{
		") Z 1 (\n 9": ") Z 1 (? 9", "\xff\xfe(\x80": "??(?", "grüße": "grüße", "日本": "日本",
		"a\x00b": "a?b", "\u202etxt.exe": "?txt.exe", "\ufffd": "?", "": "",
	} {
		sys := stamped().with(func(w *world) {
			w.o.Process.Name = probe.Known(name, "scripted")
			w.o.Host.Machine.Host = probe.Known(name, "scripted")
		}).system()
		id, err := identity.OfOn(sys, ownerPID)
		if err != nil || id.Program != want || id.Host != want {
			t.Errorf("%q: %v, %q, %q", name, err, id.Program, id.Host)
		}
		checkStable(t, id)
	}
}

// Neither host name nor machine id nor wall time has a say (B13, B53, B55, B56).
func TestLabelsAreNoEvidence(t *testing.T) {
	for name, change := range map[string]func(*world){
		"host name recorded": func(w *world) { w.c.Owner.Host = "other" },
		"program recorded":   func(w *world) { w.c.Owner.Program = "other" },
		"start recorded":     func(w *world) { w.c.Owner.StartedAt = time.Unix(1, 0) },
		"host name": func(w *world) {
			w.o.Host.Machine.Host = probe.Known("renamed", "uname")
		},
		"machine id": func(w *world) {
			w.o.Host.Machine.ID = probe.Known("00000000000000000000000000000001", "machine-id")
		},
		"no machine id": func(w *world) { w.o.Host.Machine = probe.Machine{} },
		"clock set":     bootMoved(-1000 * time.Hour),
		"clock unknown": func(w *world) {
			w.o.Host.Boot.StartedAt = probe.Unknown[time.Time]("clock", errDenied)
			w.o.Process.StartedAt = probe.Unknown[time.Time]("clock", errDenied)
		},
		"other kernel release": func(w *world) { w.o.Host.Kernel = probe.Known("2.6", "uname") },
		"/proc not trusted": func(w *world) {
			w.o.Host.ProcFS = probe.Unknown[string]("/proc", probe.ErrUntrusted)
		},
	} {
		for _, tt := range []struct {
			world *world
			want  string
		}{
			{stamped(), "alive process-running"},
			{stamped().with(noPIDFD), "alive process-running"},
			{stamped().with(anotherProcess), "gone pid-reused"},
			{recorded().with(absent(probe.Missing)), "gone no-such-process"},
			{recorded().with(bootRecorded(otherBoot)), "gone machine-restarted"},
			{recorded().with(readerShared, absent(probe.Missing)), "unknown shared-filesystem"},
		} {
			wantFinding(t, name, tt.world.with(change).decide(), tt.want)
		}
	}
}
