package identity_test

import (
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
)

// row is a base case of the table, and what each single change of flips makes of it: by verdict and
// reason, the names of the changes. One that is not listed must leave both as they are.
type row struct {
	name  string
	world *world
	want  string
	flips outcomes
}

type outcomes map[string][]string

// Names of several changes that always go together.
const (
	bootUnknown = "boot not recorded|boot not genuine here|boot unknown on both sides"

	pidNSUnknown = "pid namespace not recorded|pid namespace unknown here|" +
		"pid namespace unknown on both sides"

	timeNSUnknown = "time namespace not recorded|time namespace unknown here|" +
		"time namespace unknown on both sides|time namespaces not supported here"

	startUnknown = "start not recorded|start recorded is malformed|" +
		"start recorded is of another kind|start unreadable here|start here is malformed|" +
		"start unknown on both sides|start malformed on both sides"

	noProcess   = "missing|only a thread"
	reused      = "another process|another process, exited"
	otherFile   = "other inode|other filesystem type"
	fileUnknown = "file not recorded|inode not recorded|file unknown here"
	fsIDUnknown = "filesystem id not recorded|filesystem id unknown here"
	notLocal    = "owner not local|reader not local"
)

type flip struct {
	name   string
	change func(*world)
}

// flips are the single changes.
var flips = []flip{
	{"kernel lock held", lock(identity.LockHeld)},
	{"kernel lock free", lock(identity.LockFree)},
	{"kernel lock untested", lock(identity.LockUntested)},
	{"no kernel lock claimed", noLockClaimed},
	{"kernel lock claimed", func(w *world) { w.c.KernelLock = "ofd" }},
	{"other inode", fileSeen(identity.FileID{FS: "ext4", ID: ownerFile.ID, Inode: 78})},
	{"other filesystem type", fileSeen(identity.FileID{FS: "xfs", ID: ownerFile.ID, Inode: 77})},
	{"other filesystem id", fileSeen(identity.FileID{FS: "ext4", ID: "fedc", Inode: 77})},
	{"filesystem id not recorded", fileRecorded(identity.FileID{FS: "ext4", Inode: 77})},
	{"filesystem id unknown here", fileSeen(identity.FileID{FS: "ext4", Inode: 77})},
	{"file not recorded", fileRecorded(identity.FileID{})},
	{"inode not recorded", fileRecorded(identity.FileID{FS: "ext4", ID: ownerFile.ID})},
	{"file unknown here", fileSeen(identity.FileID{})},
	{"file fits", fileSeen(ownerFile)},
	{"owner not local", ownerShared},
	{"owner local", func(w *world) { w.c.Local = true }},
	{"reader not local", readerShared},
	{"reader local", func(w *world) { w.o.Filesystem.Local = true }},
	{"other boot", bootRecorded(otherBoot)},
	{"other boot, other filesystem id", all(bootRecorded(otherBoot),
		fileSeen(identity.FileID{FS: "ext4", ID: "fedc", Inode: 77}))},
	{"other boot, other inode", all(bootRecorded(otherBoot),
		fileSeen(identity.FileID{FS: "ext4", ID: ownerFile.ID, Inode: 78}))},
	{"boot not recorded", bootRecorded("")},
	{"boot not genuine here", bootNotGenuine},
	{"boot unknown on both sides", all(bootRecorded(""), bootNotGenuine)},
	{"same boot", bootRecorded("01234567-89ab-4cde-8f01-23456789abcd")},
	{"other pid namespace", pidNSRecorded(otherNS)},
	{"pid namespace not recorded", pidNSRecorded(0)},
	{"pid namespace unknown here", pidNSUnseen},
	{"pid namespace unknown on both sides", all(pidNSRecorded(0), pidNSUnseen)},
	{"same pid namespace", pidNSRecorded(4026531836)},
	{"other time namespace", timeNSRecorded(otherNS)},
	{"time namespace not recorded", timeNSRecorded(0)},
	{"time namespace unknown here", timeNSUnseen},
	{"time namespace unknown on both sides", all(timeNSRecorded(0), timeNSUnseen)},
	{"time namespaces not supported here", noTimeNS},
	{"time namespaces not supported", all(timeNSRecorded(0), noTimeNS)},
	{"the owner's process", ownerRuns},
	{"missing", absent(probe.Missing)},
	{"only a thread", absent(probe.ThreadOnly)},
	{"presence unknown", absent(probe.PresenceUnknown)},
	{"exited", all(ownerRuns, presence(probe.Exited))},
	{"another process", all(ownerRuns, anotherProcess)},
	{"another process, exited", all(ownerRuns, anotherProcess, presence(probe.Exited))},
	{"stopped", state("stopped")},
	{"zombie leader with live threads", state("zombie")},
	{"pidfd not recorded", pidfdRecorded(0)},
	{"pidfd unknown here", pidfdUnknown},
	{"pidfd unknown on both sides", noPIDFD},
	{"other pidfd", pidfdSeen(otherPIDFD)},
	{"same pidfd", all(pidfdRecorded(ownerPIDFD), pidfdSeen(ownerPIDFD))},
	{"start not recorded", startRecorded("")},
	{"start recorded is malformed", startRecorded("ticks:015234")},
	{"start recorded is of another kind", startRecorded("usec:152.340000")},
	{"start unreadable here", startUnreadable},
	{"start here is malformed", startSeen("ticks:")},
	{"start unknown on both sides", all(startRecorded(""), startUnreadable)},
	{"start malformed on both sides", all(startRecorded("ticks:01"), startSeen("ticks:01"))},
	{"other start", startSeen(otherStart)},
	{"same start", all(startRecorded(ownerStart), startSeen(ownerStart))},
	{"other operating system", recordedOS("darwin")},
	{"untrusted", untrusted},
	{"shared filesystem accepted", sharedSameBoot},
	{"no process number", pidRecorded(0)},
}

// byChange returns the outcome of every change that has one.
func (o outcomes) byChange(t *testing.T, flips []flip) map[string]string {
	t.Helper()
	known := map[string]bool{}
	for _, f := range flips {
		if known[f.name] {
			t.Fatalf("the change %q is there twice", f.name)
		}
		known[f.name] = true
	}
	byChange := map[string]string{}
	for outcome, changes := range o {
		for name := range strings.SplitSeq(strings.Join(changes, "|"), "|") {
			if !known[name] || byChange[name] != "" {
				t.Fatalf("the change %q does not exist or has two outcomes", name)
			}
			byChange[name] = outcome
		}
	}
	return byChange
}

func (r row) check(t *testing.T, flips []flip) {
	t.Helper()
	t.Run(r.name, func(t *testing.T) {
		f := r.world.decide()
		checkFinding(t, f)
		if said(f) != r.want {
			t.Fatalf("%s, want %s: %+v", said(f), r.want, f)
		}
		outcome := r.flips.byChange(t, flips)
		for _, flip := range flips {
			want := outcome[flip.name]
			if want == "" {
				want = r.want
			}
			f := r.world.with(flip.change).decide()
			checkFinding(t, f)
			if said(f) != want {
				t.Errorf("%s: %s, want %s", flip.name, said(f), want)
			}
		}
	})
}

func TestFlips(t *testing.T) {
	for _, rows := range [][]row{lockRows, processRows, stampRows} {
		for _, r := range rows {
			r.check(t, flips)
		}
	}
}
