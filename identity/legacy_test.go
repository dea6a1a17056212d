package identity_test

import (
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// When the owner of the legacy worlds started, when it wrote its record, and when another process
// with its number started, since the boot.
const (
	legacyStart   = 152_340 * time.Millisecond
	legacyWritten = 160 * time.Second
	legacyReused  = 1000 * time.Second
)

// legacy is a world with a record by a record-v2 program in another language, whose owner runs.
func legacy() *world {
	w := recorded()
	w.c = identity.Claim{
		Form:   identity.Legacy,
		Owner:  identity.Identity{PID: ownerPID},
		Since:  probetest.BootTime.Add(legacyWritten),
		HostID: "fcc693158788fa38ea66613916aa6bcc",
		// Estimates of the peer: a little late.
		ProcessStartMS: probetest.BootTime.Add(legacyStart + 8*time.Millisecond).UnixMilli(),
		BootStartMS:    probetest.BootTime.Add(5 * time.Millisecond).UnixMilli(),
	}
	w.o.HostID = w.c.HostID
	w.o.KernelLock = identity.LockFree
	return w
}

// startedAt gives the process that has the number another start, since the boot.
func startedAt(sinceBoot time.Duration) func(*world) {
	return func(w *world) {
		w.o.Process.StartedAt = probe.Known(probetest.BootTime.Add(sinceBoot), "scripted")
	}
}

// bootMoved moves the start of the boot and all that is counted from it, as a clock step does.
func bootMoved(by time.Duration) func(*world) {
	return func(w *world) {
		w.o.Host.Boot.StartedAt = probe.Known(probetest.BootTime.Add(by), "scripted")
		if s := &w.o.Process.StartedAt; s.Known {
			s.Value = s.Value.Add(by)
		}
	}
}

// nested puts a process into a pid namespace below in which it has the recorded number.
func nested(p probe.Presence, sinceBoot time.Duration) func(*world) {
	return func(w *world) {
		found := probetest.Process(9000, uint64(sinceBoot/(10*time.Millisecond)))
		found.Presence = p
		w.o.Nested.Found = []probe.Process{found}
	}
}

func nestedUnreadable(w *world) {
	w.o.Nested.Found = []probe.Process{probetest.Absent(9000, probe.PresenceUnknown, errDenied)}
}

func nestedIncomplete(w *world) { w.o.Nested.Incomplete = errDenied }

// legacyRows has the rows of the legacy rules.
var legacyRows = []row{
	{
		name: "missing", world: legacy().with(absent(probe.Missing)), want: "gone no-such-process",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial, mayBeNested},
			"alive process-running":        {"running"},
			"gone pid-reused":              {"started after"},
			"unknown legacy-ambiguous":     {"started between"},
			"gone process-exited":          {"exited"},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
	{
		name: "only a thread", world: legacy().with(absent(probe.ThreadOnly)),
		want: "gone no-such-process",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial, mayBeNested},
			"alive process-running":        {"running"},
			"gone pid-reused":              {"started after"},
			"unknown legacy-ambiguous":     {"started between"},
			"gone process-exited":          {"exited"},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
	{
		name: "exited", world: legacy().with(presence(probe.Exited)), want: "gone process-exited",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial, mayBeNested},
			"alive process-running":        {"running"},
			"gone pid-reused":              {"started after"},
			"unknown legacy-ambiguous":     {"started between"},
			"gone no-such-process":         {noProcess},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
	{
		name: "running", world: legacy(), want: "alive process-running",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial},
			"gone pid-reused":              {"started after"},
			"unknown legacy-ambiguous":     {"started between"},
			"gone no-such-process":         {noProcess},
			"gone process-exited":          {"exited"},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown start-unreadable":     {"start unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
	{
		name: "reused", world: legacy().with(startedAt(legacyReused)), want: "gone pid-reused",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial, mayBeNested},
			"alive process-running":        {"running"},
			"unknown legacy-ambiguous":     {"started between", "time of record unknown"},
			"gone no-such-process":         {noProcess},
			"gone process-exited":          {"exited"},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown start-unreadable":     {"start unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
	{
		name: "ambiguous", world: legacy().with(startedAt(legacyWritten)),
		want: "unknown legacy-ambiguous",
		flips: outcomes{
			"unknown namespace-unrecorded": {notInitial},
			"alive process-running":        {"running"},
			"gone pid-reused":              {"started after"},
			"gone no-such-process":         {noProcess},
			"gone process-exited":          {"exited"},
			"unknown process-unreadable":   {"presence unknown"},
			"unknown start-unreadable":     {"start unknown"},
			"unknown other-boot":           {bootElsewhen},
			"unknown boot-unreadable":      {"boot start unknown"},
			"unknown other-machine":        {"other host id"},
			"unknown shared-filesystem":    {"reader not local"},
		},
	},
}

const (
	notInitial   = "inner pid namespace|pid namespace unknown"
	mayBeNested  = "nested fits|nested unreadable|nested fits, presence unknown|nested incomplete"
	bootElsewhen = "boot 121 s later|boot 121 s earlier"
)

var legacyFlips = []flip{
	{"kernel lock held", lock(identity.LockHeld)},
	{"kernel lock untested", lock(identity.LockUntested)},
	{"untrusted", untrusted},
	{"reader not local", readerShared},
	{"other host id", func(w *world) { w.o.HostID = "5d41402abc4b2a76b9719d911017c592" }},
	{"boot start unknown", func(w *world) {
		w.o.Host.Boot.StartedAt = probe.Unknown[time.Time]("clock", errDenied)
	}},
	{"boot 121 s later", bootMoved(121 * time.Second)},
	{"boot 121 s earlier", bootMoved(-121 * time.Second)},
	{"boot 119 s later", bootMoved(119 * time.Second)},
	{"boot 119 s earlier", bootMoved(-119 * time.Second)},
	{"inner pid namespace", func(w *world) {
		w.o.Host.Namespaces.PIDInitial = probe.Known(false, "scripted")
	}},
	{"pid namespace unknown", func(w *world) {
		w.o.Host.Namespaces.PIDInitial = probe.Unknown[bool]("ns/pid", errDenied)
	}},
	{"running", ownerRuns},
	{"missing", absent(probe.Missing)},
	{"only a thread", absent(probe.ThreadOnly)},
	{"presence unknown", absent(probe.PresenceUnknown)},
	{"exited", all(ownerRuns, presence(probe.Exited))},
	{"started after", all(ownerRuns, startedAt(legacyReused))},
	{"started between", all(ownerRuns, startedAt(legacyWritten))},
	{"start unknown", func(w *world) {
		w.o.Process.StartedAt = probe.Unknown[time.Time]("stat", errDenied)
	}},
	{"time of record unknown", func(w *world) { w.c.Since = time.Time{} }},
	{"nested fits", nested(probe.Running, legacyStart)},
	{"nested fits, presence unknown", nested(probe.PresenceUnknown, legacyStart)},
	{"nested started after", nested(probe.Running, legacyReused)},
	{"nested exited", nested(probe.Exited, legacyStart)},
	{"nested missing", nested(probe.Missing, legacyStart)},
	{"nested unreadable", nestedUnreadable},
	{"nested incomplete", nestedIncomplete},
	// Evidence that such a record does not have must have no say.
	{"shared filesystem accepted", sharedSameBoot},
	{"other boot id", bootRecorded(otherBoot)},
	{"boot not genuine here", bootNotGenuine},
	{"owner local", func(w *world) { w.c.Local = true }},
	{"other inode", fileSeen(identity.FileID{FS: "ext4", ID: "a", Inode: 1})},
	{"kernel lock claimed", func(w *world) { w.c.KernelLock, w.c.File = "ofd", ownerFile }},
}

func TestLegacyFlips(t *testing.T) {
	for _, r := range legacyRows {
		r.flips["alive kernel-lock-held"] = []string{"kernel lock held"}
		r.flips["unknown record-untrusted"] = []string{"untrusted"}
		r.check(t, legacyFlips)
	}
}

// The tolerances are exactly those of the documentation.
func TestLegacyTolerances(t *testing.T) {
	const ms = time.Millisecond
	exact := func(w *world) {
		w.c.ProcessStartMS = probetest.BootTime.Add(legacyStart).UnixMilli()
		w.c.BootStartMS = probetest.BootTime.UnixMilli()
	}
	for _, tt := range []struct {
		start time.Duration
		want  string
	}{
		{legacyStart + 5*time.Second, "alive process-running"},
		{legacyStart + 5*time.Second + ms, "unknown legacy-ambiguous"},
		{legacyStart - 5*time.Second, "alive process-running"},
		{legacyStart - 5*time.Second - ms, "unknown legacy-ambiguous"},
		{legacyWritten + 5*time.Second, "unknown legacy-ambiguous"},
		{legacyWritten + 5*time.Second + ms, "gone pid-reused"},
	} {
		f := legacy().with(exact, startedAt(tt.start)).decide()
		wantFinding(t, tt.start.String(), f, tt.want)
	}
	for _, tt := range []struct {
		moved time.Duration
		want  string
	}{
		{120 * time.Second, "gone no-such-process"}, {120*time.Second + ms, "unknown other-boot"},
		{-120 * time.Second, "gone no-such-process"}, {-120*time.Second - ms, "unknown other-boot"},
	} {
		f := legacy().with(exact, absent(probe.Missing), bootMoved(tt.moved)).decide()
		wantFinding(t, tt.moved.String(), f, tt.want)
	}
	// Values that no arithmetic may trip over.
	for _, n := range []int64{0, 1<<53 - 1, -1 << 63, 1<<63 - 1} {
		f := legacy().with(func(w *world) { w.c.ProcessStartMS = n }).decide()
		wantFinding(t, "process start", f, "unknown legacy-ambiguous")
		f = legacy().with(func(w *world) { w.c.BootStartMS = n }).decide()
		wantFinding(t, "boot start", f, "unknown other-boot")
	}
}
