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

const macPID = 4711

// onMac is a world with a record that was written on macOS, read on the same: its owner runs, and
// the kernel lock is free.
func onMac() *world {
	sys := probetest.NewDarwin()
	p := probetest.DarwinProcess(macPID, time.Minute)
	file := identity.FileID{FS: "apfs", ID: "010000120000001a", Inode: 77}
	return &world{
		c: identity.Claim{
			Form: identity.WithProof,
			Owner: identity.Identity{
				OS: "darwin", PID: macPID, Boot: probetest.BootSession, Start: p.Start.Value,
				Serial: p.Serial.Value, Program: "importer",
			},
			File: file, KernelLock: "flock", Local: true,
		},
		o: identity.Observation{
			Host: sys.HostFacts, Process: p, Filesystem: sys.FS, File: file,
			KernelLock: identity.LockFree,
		},
	}
}

func stampedOnMac() *world {
	w := onMac()
	w.c = identity.Claim{Form: identity.Stamp, Owner: w.c.Owner}
	w.o = identity.Observation{Host: w.o.Host, Process: w.o.Process}
	return w
}

func serialSeen(n uint64) func(*world) {
	return func(w *world) { w.o.Process.Serial = probe.Known(n, "scripted") }
}

func noSerialSeen(w *world) {
	w.o.Process.Serial = probe.Unknown[uint64]("proc_info", errDenied)
}

func noSerialRecorded(w *world) { w.c.Owner.Serial = 0 }

func anotherMacProcess(w *world) {
	w.o.Process = probetest.DarwinProcess(macPID, time.Hour)
}

func macAbsent(p probe.Presence) func(*world) {
	return func(w *world) { w.o.Process = probetest.Absent(macPID, p, errDenied) }
}

func macZombie(w *world) {
	w.o.Process.Presence = probe.Exited
	w.o.Process.State = probe.Known("zombie", "scripted")
}

// The rows of the table that apply on macOS: there are no namespaces, starts are wall times of the
// fork, and the number among all processes of the boot is exact.
func TestMacRows(t *testing.T) {
	otherSession := strings.Replace(probetest.BootSession, "0", "1", 1)
	missing := macAbsent(probe.Missing)
	for name, tt := range map[string]struct {
		world *world
		want  string
	}{
		"2: held": {onMac().with(lock(identity.LockHeld), missing), "alive kernel-lock-held"},
		"2: held, other boot": {onMac().with(lock(identity.LockHeld), bootRecorded(otherSession)),
			"alive kernel-lock-held"},
		"5: runs":             {onMac(), "alive process-running"},
		"5: stopped":          {onMac().with(state("stopped")), "alive process-running"},
		"5: no serial here":   {onMac().with(noSerialSeen), "alive process-running"},
		"5: none recorded":    {onMac().with(noSerialRecorded), "alive process-running"},
		"5: serial alone":     {onMac().with(startUnreadable), "alive process-running"},
		"6: other session":    {onMac().with(bootRecorded(otherSession)), "gone machine-restarted"},
		"7: missing":          {onMac().with(missing), "gone no-such-process"},
		"7: zombie":           {onMac().with(macZombie), "gone process-exited"},
		"7: reused":           {onMac().with(anotherMacProcess), "gone pid-reused"},
		"7: reused, starts":   {onMac().with(noSerialRecorded, anotherMacProcess), "gone pid-reused"},
		"7: reused, serial":   {onMac().with(startUnreadable, serialSeen(5)), "gone pid-reused"},
		"8: no boot here":     {onMac().with(bootNotGenuine), "gone kernel-lock-released"},
		"8: no boot recorded": {onMac().with(bootRecorded("")), "gone kernel-lock-released"},
		"8: cannot be asked": {onMac().with(macAbsent(probe.PresenceUnknown)),
			"gone kernel-lock-released"},
		"8: another kind of start": {onMac().with(noSerialRecorded, startRecorded("ticks:6000")),
			"gone kernel-lock-released"},
		"8: contradiction": {onMac().with(serialSeen(5)), "gone kernel-lock-released"},
		"9: missing":       {onMac().with(noLockClaimed, missing), "gone no-such-process"},
		"9: reused":        {onMac().with(noLockClaimed, anotherMacProcess), "gone pid-reused"},
		"10: smbfs": {onMac().with(missing, readerShared),
			"unknown shared-filesystem"},
		"11: other session": {onMac().with(noLockClaimed, bootRecorded(otherSession)),
			"unknown other-boot"},
		"12: no boot": {onMac().with(noLockClaimed, bootNotGenuine, missing),
			"unknown boot-unreadable"},
		"12: nothing to compare": {onMac().with(noLockClaimed, noSerialSeen, startUnreadable),
			"unknown start-unreadable"},
		// A serial number and a start that contradict one another: one of them is not what it
		// seems.
		"12: contradiction": {onMac().with(noLockClaimed, serialSeen(5)),
			"unknown start-unreadable"},
		"12: written on Linux": {onMac().with(noLockClaimed, recordedOS("linux"), missing),
			"unknown other-os"},

		"stamp: runs":    {stampedOnMac(), "alive process-running"},
		"stamp: missing": {stampedOnMac().with(missing), "gone no-such-process"},
		"stamp: reused":  {stampedOnMac().with(anotherMacProcess), "gone pid-reused"},
		"stamp: other":   {stampedOnMac().with(bootRecorded(otherSession), missing), "unknown other-boot"},
		"stamp: unsure":  {stampedOnMac().with(serialSeen(5)), "unknown start-unreadable"},
	} {
		f := tt.world.decide()
		if said(f) != tt.want {
			t.Errorf("%s: %s\nwant %s: %+v", name, said(f), tt.want, f)
		}
		checkFinding(t, f)
	}
}

// On a BSD without boot ids a process of a record cannot be told from one of an earlier boot.
// FreeBSD has one.
func TestBSDRows(t *testing.T) {
	on := func(os string) *world {
		sys, p := probetest.NewBSD(os), probetest.BSDProcess(os, macPID, time.Minute)
		w := onMac()
		w.c.Owner = identity.Identity{OS: os, PID: macPID, Start: p.Start.Value}
		if sys.HostFacts.Boot.ID.Known {
			w.c.Owner.Boot = sys.HostFacts.Boot.ID.Value
		}
		w.o.Host, w.o.Process = sys.HostFacts, p
		return w
	}
	missing := macAbsent(probe.Missing)
	for _, os := range []string{"openbsd", "netbsd", "dragonfly"} {
		for want, w := range map[string]*world{
			"alive kernel-lock-held":    on(os).with(lock(identity.LockHeld)),
			"gone kernel-lock-released": on(os).with(missing),
			"unknown boot-unreadable":   on(os).with(missing, noLockClaimed),
		} {
			wantFinding(t, os, w.decide(), want)
		}
		wantFinding(t, os, on(os).decide(), "gone kernel-lock-released")
	}
	for want, w := range map[string]*world{
		"alive process-running":  on("freebsd"),
		"gone no-such-process":   on("freebsd").with(missing, noLockClaimed),
		"gone machine-restarted": on("freebsd").with(bootRecorded(otherBoot)),
		"unknown other-boot":     on("freebsd").with(noLockClaimed, bootRecorded(otherBoot)),
		"gone pid-reused": on("freebsd").with(noLockClaimed, func(w *world) {
			w.o.Process = probetest.BSDProcess("freebsd", macPID, time.Hour)
		}),
	} {
		wantFinding(t, "freebsd", w.decide(), want)
	}
}

// The identity of a process on macOS keeps its serial number, as text and as JSON.
func TestMacIdentity(t *testing.T) {
	sys := probetest.NewDarwin()
	sys.Add(probetest.DarwinProcess(macPID, time.Minute))
	id, err := identity.OfOn(sys, macPID)
	if err != nil || id.Serial == 0 || id.PIDFD != 0 || id.PIDNS != 0 ||
		id.Start != "usec:1767323105.000000" {
		t.Errorf("%+v, %v", id, err)
	}
	var back identity.Identity
	text := id.String()
	if err := back.UnmarshalText([]byte(text)); err != nil || !same(back, id) ||
		!strings.Contains(text, ";serial=") {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
	sys.Remove(macPID)
	if f := identity.JudgeOn(sys, back); said(f) != "gone no-such-process" {
		t.Errorf("%+v", f)
	}
	if _, err := identity.OfOn(sys, macPID); !errors.Is(err, identity.ErrNoProcess) {
		t.Error(err)
	}
}
