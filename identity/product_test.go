package identity_test

import (
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The test of this file asks for every combination of small sets of inputs, and holds the answers
// against rules that are written in another way than the table: not as rows in an order, but as
// what each answer is equivalent to. It does not look at the inputs but at what these mean, in
// three values: yes, no and cannot be said.
//
// About the process (evidence B):
//
//   - the number means the owner only on the same system, under the same boot, in the same pid
//     namespace, and a yes is needed for each: cannot be said is not enough;
//   - the process that has it is the owner's when the pidfd inodes are equal; without both of them
//     when two valid starts of one kind are equal that were read in one time namespace; and another
//     when those differ; else it cannot be said;
//   - alive needs: means the owner, has not exited, is the owner's process;
//   - dead needs: means the owner, and nobody has it, or who has it has exited or is another.
//
// About the kernel lock (evidence A): dead needs that it was claimed, is free, on the very file, in
// a filesystem that both sides call local.
//
// Together:
//
//	I1  alive  ⇔  the lock is held, or (trusted, same system, alive by B)
//	I2  gone   ⇔  not alive, trusted, same system, and
//	              (dead by A; or dead by B, local or accepted, and not
//	              (the lock was claimed, perhaps on this file, and could not be tested))
//	I3  unknown otherwise
//	I4  the reason names what made the difference: see checkReason
//
// Stamps have neither lock nor file: they are local and trusted.

type tri int

const (
	no tri = iota
	unsaid
	yes
)

// meaning is what the inputs of a world mean.
type meaning struct {
	lock                  identity.LockState
	claimed, trusted      bool
	ownerLocal, hereLocal bool
	accepted, sameOS      bool
	stamp                 bool
	boot, pidNS, timeNS   tri
	timeNSReadable        bool // on both sides, or there are none
	file, fileIfRestarted tri
	presence              probe.Presence
	pidfd, start          tri // unsaid: not comparable
}

func (m meaning) process() tri {
	if m.pidfd != unsaid {
		return m.pidfd
	}
	if m.start == unsaid || m.timeNS != yes {
		return unsaid
	}
	return m.start
}

func (m meaning) meansOwner() bool { return m.sameOS && m.boot == yes && m.pidNS == yes }

func (m meaning) aliveB() bool {
	return m.meansOwner() && m.presence == probe.Running && m.process() == yes
}

func (m meaning) deadB() bool {
	if !m.meansOwner() {
		return false
	}
	nobody := m.presence == probe.Missing || m.presence == probe.ThreadOnly
	return nobody || m.presence == probe.Exited || m.presence == probe.Running && m.process() == no
}

func (m meaning) veryFile() tri {
	if m.boot == no {
		return m.fileIfRestarted
	}
	return m.file
}

func (m meaning) counts() bool {
	return !m.stamp && m.claimed && m.veryFile() == yes && m.ownerLocal && m.hereLocal
}

func (m meaning) deadA() bool { return m.counts() && m.lock == identity.LockFree }

func (m meaning) held() bool { return !m.stamp && m.lock == identity.LockHeld }

func (m meaning) believable() bool { return m.sameOS && (m.stamp || m.trusted) }

// onlyHere reports that no other kernel can have a say.
func (m meaning) onlyHere() bool {
	return m.stamp || m.accepted || m.ownerLocal && m.hereLocal
}

// childrenMayHold reports that something the owner started may hold the lock, untested.
func (m meaning) childrenMayHold() bool {
	return !m.stamp && m.claimed && m.veryFile() != no && m.lock == identity.LockUntested
}

func (m meaning) verdict() identity.Verdict {
	alive := m.held() || m.believable() && m.aliveB()
	dead := m.deadA() || m.deadB() && m.onlyHere() && !m.childrenMayHold()
	switch {
	case alive:
		return identity.Alive
	case m.believable() && dead:
		return identity.Gone
	}
	return identity.Unknown
}

// checkReason returns whether a reason is true, given the verdict. A reason that is missing here is
// one that these worlds cannot have.
func (m meaning) checkReason(f identity.Finding) bool {
	untested := m.childrenMayHold() && (m.counts() || m.deadB()) && m.onlyHere()
	// What is said about the process when nothing that concerns the lock comes first.
	plain := f.Verdict == identity.Unknown && m.believable() && m.onlyHere() && !untested
	number := plain && m.meansOwner()
	switch f.Reason {
	case identity.KernelLockHeld:
		return m.held()
	case identity.ProcessRunning:
		return !m.held() && m.aliveB()
	case identity.MachineRestarted:
		return m.deadA() && m.boot == no
	case identity.NoSuchProcess:
		return m.deadB() && (m.presence == probe.Missing || m.presence == probe.ThreadOnly)
	case identity.PIDReused:
		return m.deadB() && m.process() == no &&
			(m.presence == probe.Running || m.presence == probe.Exited)
	case identity.ProcessExited:
		return m.deadB() && m.process() != no && m.presence == probe.Exited
	case identity.KernelLockReleased:
		return m.deadA() && m.boot != no && !m.deadB()
	case identity.RecordUntrusted:
		return !m.stamp && !m.trusted
	case identity.OtherOS:
		return !m.sameOS && (m.stamp || m.trusted)
	case identity.KernelLockUnreadable:
		return untested
	case identity.SharedFilesystem:
		return !m.onlyHere()
	case identity.OtherBoot:
		return plain && m.boot == no
	case identity.BootUnreadable:
		return plain && m.boot == unsaid
	case identity.OtherPIDNamespace:
		return plain && m.boot == yes && m.pidNS == no
	case identity.NamespaceUnreadable:
		return plain && m.boot == yes && m.pidNS == unsaid ||
			number && m.presence == probe.Running && m.start != unsaid && !m.timeNSReadable
	case identity.OtherTimeNamespace:
		return number && m.presence == probe.Running && m.start != unsaid && m.timeNSReadable &&
			m.timeNS == no
	case identity.StartUnreadable:
		return number && m.presence == probe.Running && m.start == unsaid
	case identity.ProcessUnreadable:
		return number && m.presence == probe.PresenceUnknown
	}
	return false
}

// axis is one input with its values: each changes the world and says what that means.
type axis []func(*world, *meaning)

// each calls visit for every combination of values.
func each(w world, m meaning, axes []axis, visit func(*world, *meaning)) {
	if len(axes) == 0 {
		visit(&w, &m)
		return
	}
	for _, value := range axes[0] {
		changed, means := w, m
		value(&changed, &means)
		each(changed, means, axes[1:], visit)
	}
}

func (m *meaning) check(t *testing.T, w *world, seen map[string]int) {
	f := w.decide()
	checkFinding(t, f)
	if want := m.verdict(); f.Verdict != want || !m.checkReason(f) {
		t.Errorf("%v: want %v, and a true reason\n%+v\n%+v", said(f), want, *m, w.c)
	}
	seen[said(f)]++
	if t.Failed() {
		t.FailNow() // one is enough to read
	}
}

func TestEveryCombination(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	total := 0
	visit := func(w *world, m *meaning) { total++; m.check(t, w, seen) }
	ok := meaning{trusted: true, sameOS: true}
	// All of the record against the essentials of the process, and the other way round.
	record := []axis{lockAxis, claimAxis, fileAxis, ownerAxis, readerAxis, policyAxis,
		bootAxis[:4], pidNSAxis[:3]}
	each(*recorded(), ok, append(record, presentAxis, pidfdAxis[:3], startAxis[:3],
		timeNSAxis[:2]), visit)
	each(*recorded(), ok, append(record, absentAxis), visit)
	process := []axis{lockAxis, claimAxis, fileAxis[:1], ownerAxis[:1], readerAxis, policyAxis}
	each(*recorded(), ok, append(process, bootAxis[:1], pidNSAxis[:1], presentAxis, pidfdAxis,
		startAxis, timeNSAxis), visit)
	each(*recorded(), ok, append(process, bootAxis, pidNSAxis, presentAxis, pidfdAxis[:1],
		startAxis[:1], timeNSAxis[:1]), visit)
	each(*recorded(), ok, append(process, bootAxis, pidNSAxis, absentAxis), visit)
	stamp := []axis{stampAxis, osAxis, bootAxis, pidNSAxis}
	each(*stamped(), ok, append(stamp, presentAxis, pidfdAxis, startAxis, timeNSAxis), visit)
	each(*stamped(), ok, append(stamp, absentAxis), visit)
	// What comes before everything else needs fewer worlds.
	first := []axis{lockAxis, claimAxis, ownerAxis, readerAxis, policyAxis, bootAxis, osAxis,
		trustAxis, absentAxis}
	each(*recorded(), meaning{file: yes, fileIfRestarted: yes, pidNS: yes}, first, visit)
	t.Logf("%d combinations: %v", total, seen)
	if len(seen) != 18 {
		t.Errorf("%d kinds of findings instead of 18: %v", len(seen), seen)
	}
}

var (
	lockAxis = axis{
		func(w *world, m *meaning) { m.lock = identity.LockHeld; lock(m.lock)(w) },
		func(w *world, m *meaning) { m.lock = identity.LockFree; lock(m.lock)(w) },
		func(w *world, m *meaning) { m.lock = identity.LockUntested; lock(m.lock)(w) },
	}
	claimAxis = axis{
		func(_ *world, m *meaning) { m.claimed = true },
		func(w *world, _ *meaning) { noLockClaimed(w) },
	}
	fileAxis = axis{
		func(_ *world, m *meaning) { m.file, m.fileIfRestarted = yes, yes },
		func(w *world, _ *meaning) { w.o.File.Inode++ },
		func(w *world, m *meaning) { w.o.File.ID, m.fileIfRestarted = "fedc", yes },
		func(w *world, m *meaning) { w.c.File.ID, m.file, m.fileIfRestarted = "", unsaid, yes },
		func(w *world, m *meaning) { w.o.File.FS, m.file, m.fileIfRestarted = "", unsaid, unsaid },
	}
	ownerAxis = axis{
		func(_ *world, m *meaning) { m.ownerLocal = true },
		func(w *world, _ *meaning) { ownerShared(w) },
	}
	readerAxis = axis{
		func(_ *world, m *meaning) { m.hereLocal = true },
		func(w *world, _ *meaning) { readerShared(w) },
	}
	policyAxis = axis{
		func(*world, *meaning) {},
		func(w *world, m *meaning) { sharedSameBoot(w); m.accepted = true },
	}
	trustAxis = axis{
		func(_ *world, m *meaning) { m.trusted = true },
		func(w *world, _ *meaning) { untrusted(w) },
	}
	osAxis = axis{
		func(_ *world, m *meaning) { m.sameOS = true },
		func(w *world, m *meaning) { recordedOS("freebsd")(w); m.sameOS = false },
	}
	stampAxis = axis{func(_ *world, m *meaning) { m.stamp = true }}
	bootAxis  = axis{
		func(_ *world, m *meaning) { m.boot = yes },
		func(w *world, m *meaning) { bootRecorded(otherBoot)(w); m.boot = no },
		func(w *world, m *meaning) { bootRecorded("")(w); m.boot = unsaid },
		func(w *world, m *meaning) { bootNotGenuine(w); m.boot = unsaid },
		func(w *world, m *meaning) { bootRecorded("")(w); bootNotGenuine(w); m.boot = unsaid },
	}
	pidNSAxis = axis{
		func(_ *world, m *meaning) { m.pidNS = yes },
		func(w *world, m *meaning) { pidNSRecorded(otherNS)(w); m.pidNS = no },
		func(w *world, m *meaning) { pidNSUnseen(w); m.pidNS = unsaid },
		func(w *world, m *meaning) { pidNSRecorded(0)(w); m.pidNS = unsaid },
		func(w *world, m *meaning) { pidNSRecorded(0)(w); pidNSUnseen(w); m.pidNS = unsaid },
	}
	timeNSAxis = axis{
		func(_ *world, m *meaning) { m.timeNS, m.timeNSReadable = yes, true },
		func(w *world, m *meaning) { timeNSRecorded(1)(w); m.timeNS, m.timeNSReadable = no, true },
		func(w *world, m *meaning) { timeNSRecorded(0)(w); timeNSUnseen(w); m.timeNS = unsaid },
		func(w *world, m *meaning) { noTimeNS(w); m.timeNS = unsaid },
		func(w *world, m *meaning) {
			timeNSRecorded(0)(w)
			noTimeNS(w)
			m.timeNS, m.timeNSReadable = yes, true
		},
	}
	presentAxis = axis{
		func(_ *world, m *meaning) { m.presence = probe.Running },
		func(w *world, m *meaning) { presence(probe.Exited)(w); m.presence = probe.Exited },
	}
	absentAxis = axis{
		func(w *world, m *meaning) { absent(probe.Missing)(w); m.presence = probe.Missing },
		func(w *world, m *meaning) { absent(probe.ThreadOnly)(w); m.presence = probe.ThreadOnly },
		func(w *world, m *meaning) {
			w.o.Process = probetest.Absent(ownerPID, probe.PresenceUnknown, errDenied)
			m.presence, m.pidfd, m.start = probe.PresenceUnknown, unsaid, unsaid
		},
	}
	pidfdAxis = axis{
		func(_ *world, m *meaning) { m.pidfd = yes },
		func(w *world, m *meaning) { pidfdSeen(otherPIDFD)(w); m.pidfd = no },
		func(w *world, m *meaning) { pidfdRecorded(0)(w); m.pidfd = unsaid },
		func(w *world, m *meaning) { pidfdUnknown(w); m.pidfd = unsaid },
	}
	startAxis = axis{
		func(_ *world, m *meaning) { m.start = yes },
		func(w *world, m *meaning) { startSeen(otherStart)(w); m.start = no },
		func(w *world, m *meaning) { startUnreadable(w); m.start = unsaid },
		func(w *world, m *meaning) { startRecorded("usec:152.340000")(w); m.start = unsaid },
	}
)
