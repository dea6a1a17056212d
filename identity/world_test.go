package identity_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// world is everything that a verdict depends on. Tests of the table start from one in which all is
// known and fits, and change single inputs of it.
type world struct {
	c identity.Claim
	o identity.Observation
	p identity.Policy
}

const (
	ownerPID   = 4711
	ownerStart = probe.Start("ticks:15234")
	ownerPIDFD = 2042
	otherStart = probe.Start("ticks:90001")
	otherPIDFD = 9001
	otherBoot  = "fedcba98-7654-4321-8fed-cba987654321"
	otherNS    = 4026532179
)

var (
	errDenied = errors.New("permission denied")
	ownerFile = identity.FileID{FS: "ext4", ID: "0123456789abcdef", Inode: 77}
)

// recorded is a world with a record by this toolkit: its owner runs, and the kernel lock, which it
// claims to have held, is free.
func recorded() *world {
	return &world{
		c: identity.Claim{
			Form: identity.WithProof,
			Owner: identity.Identity{
				OS: "linux", PID: ownerPID, Boot: probetest.BootID, Start: ownerStart,
				PIDFD: ownerPIDFD, PIDNS: probetest.PIDNamespace, TimeNS: probetest.TimeNamespace,
				Program: "importer",
			},
			File: ownerFile, KernelLock: "ofd", Local: true,
		},
		o: identity.Observation{
			Host: probetest.New().HostFacts, Process: ownerProcess(),
			Filesystem: probetest.New().FS, File: ownerFile, KernelLock: identity.LockFree,
		},
	}
}

// stamped is a world with a stamp whose owner runs.
func stamped() *world {
	w := recorded()
	w.c = identity.Claim{Form: identity.Stamp, Owner: w.c.Owner}
	w.o = identity.Observation{Host: w.o.Host, Process: w.o.Process}
	return w
}

func ownerProcess() probe.Process {
	return probe.Process{
		PID: ownerPID, Presence: probe.Running,
		Readings:  []probe.Reading{{Source: "scripted", Said: "running"}},
		State:     probe.Known("sleeping", "scripted"),
		Threads:   probe.Known(4, "scripted"),
		Start:     probe.Known(ownerStart, "scripted"),
		PIDFD:     probe.Known[uint64](ownerPIDFD, "scripted"),
		Name:      probe.Known("importer", "scripted"),
		StartedAt: probe.Known(probetest.BootTime.Add(152340*time.Millisecond), "scripted"),
	}
}

// with returns a changed copy.
func (w *world) with(changes ...func(*world)) *world {
	changed := *w
	for _, change := range changes {
		change(&changed)
	}
	return &changed
}

func (w *world) decide() identity.Finding { return identity.Decide(w.c, w.o, w.p) }

// said is verdict and reason in one string, as in "gone no-such-process".
func said(f identity.Finding) string {
	return strings.TrimSpace(f.Verdict.String() + " " + string(f.Reason))
}

// The single changes that tests are made of.

func all(changes ...func(*world)) func(*world) {
	return func(w *world) {
		for _, change := range changes {
			change(w)
		}
	}
}

func lock(s identity.LockState) func(*world) { return func(w *world) { w.o.KernelLock = s } }

func noLockClaimed(w *world) { w.c.KernelLock = "" }
func ownerShared(w *world)   { w.c.Local = false }
func readerShared(w *world) {
	w.o.Filesystem.Local = false
	w.o.Filesystem.Type = probe.Known("nfs", "scripted")
}

func fileRecorded(f identity.FileID) func(*world) { return func(w *world) { w.c.File = f } }
func fileSeen(f identity.FileID) func(*world)     { return func(w *world) { w.o.File = f } }

func bootRecorded(id string) func(*world) { return func(w *world) { w.c.Owner.Boot = id } }
func bootNotGenuine(w *world) {
	w.o.Host.Boot.ID = probe.Unknown[string]("boot_id", probe.ErrNotGenuine)
}

func pidNSRecorded(n uint64) func(*world) { return func(w *world) { w.c.Owner.PIDNS = n } }
func pidNSUnseen(w *world) {
	w.o.Host.Namespaces.PID = probe.Unknown[uint64]("ns/pid", probe.ErrUntrusted)
}

func timeNSRecorded(n uint64) func(*world) { return func(w *world) { w.c.Owner.TimeNS = n } }
func timeNSUnseen(w *world) {
	w.o.Host.Namespaces.Time = probe.Unknown[uint64]("ns/time", errDenied)
}

// noTimeNS is a kernel before 5.6.
func noTimeNS(w *world) {
	w.o.Host.Namespaces.Time = probe.Unknown[uint64]("ns/time", errors.ErrUnsupported)
}

func absent(p probe.Presence) func(*world) {
	return func(w *world) { w.o.Process = probetest.Absent(ownerPID, p, errDenied) }
}

func ownerRuns(w *world) { w.o.Process = ownerProcess() }

func presence(p probe.Presence) func(*world) { return func(w *world) { w.o.Process.Presence = p } }
func anotherProcess(w *world) {
	w.o.Process.PIDFD = probe.Known[uint64](otherPIDFD, "scripted")
	w.o.Process.Start = probe.Known(otherStart, "scripted")
	w.o.Process.Name = probe.Known("cron", "scripted")
}

func state(s string) func(*world) {
	return func(w *world) { w.o.Process.State = probe.Known(s, "scripted") }
}

func pidfdRecorded(n uint64) func(*world) { return func(w *world) { w.c.Owner.PIDFD = n } }
func pidfdSeen(n uint64) func(*world) {
	return func(w *world) { w.o.Process.PIDFD = probe.Known(n, "scripted") }
}

func pidfdUnknown(w *world) {
	w.o.Process.PIDFD = probe.Unknown[uint64]("fstat(pidfd)", errors.ErrUnsupported)
}

func startRecorded(s probe.Start) func(*world) { return func(w *world) { w.c.Owner.Start = s } }
func startSeen(s probe.Start) func(*world) {
	return func(w *world) { w.o.Process.Start = probe.Known(s, "scripted") }
}

func startUnreadable(w *world) {
	w.o.Process.Start = probe.Unknown[probe.Start]("stat", errDenied)
}

// noPIDFD is a world before Linux 6.9: the start value is all that names a process.
func noPIDFD(w *world) {
	pidfdRecorded(0)(w)
	pidfdUnknown(w)
}

func recordedOS(s string) func(*world) { return func(w *world) { w.c.Owner.OS = s } }
func untrusted(w *world)               { w.o.Untrusted = "others than its owner may write it" }
func sharedSameBoot(w *world)          { w.p.SharedSameBoot = true }
func pidRecorded(n int) func(*world)   { return func(w *world) { w.c.Owner.PID = n } }

// checkFinding checks what holds for every finding, whatever it says.
func checkFinding(t *testing.T, f identity.Finding) {
	t.Helper()
	if f.Sentence == "" || f.Verdict != identity.Free && f.Reason == "" {
		t.Errorf("%s: a finding without reason or sentence: %+v", said(f), f)
	}
	tokens := false
	for _, e := range f.Evidence {
		if e.Sentence == "" {
			t.Errorf("%s: evidence without a sentence: %+v", said(f), e)
		}
		tokens = tokens || e.Recorded != "" && e.Observed != "" && e.Recorded != e.Observed &&
			strings.Contains(e.Sentence, e.Recorded) && strings.Contains(e.Sentence, e.Observed)
	}
	if f.Reason == identity.PIDReused && !tokens {
		t.Errorf("pid-reused, and no evidence names the recorded start and the one now: %+v", f)
	}
}

// system is a scripted system on which the reader of the world sees what it sees.
func (w *world) system() *probetest.System {
	sys := probetest.New()
	sys.HostFacts = w.o.Host
	sys.Add(w.o.Process)
	return sys
}
