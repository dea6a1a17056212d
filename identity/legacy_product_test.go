package identity_test

import (
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
)

// legacyMeaning is what the inputs of a legacy world mean. In the words of product_test.go:
//
//	alive  ⇔  the lock is held, or (comparable, and a running process of that number fits)
//	gone   ⇔  not alive, comparable, nobody in a namespace below may be the owner, and
//	          (nobody has the number, or who has it exited, or does not fit and started after)
//
// comparable: trusted, on a local filesystem, same host id, boots within 120 s, initial pid
// namespace, and each of these is known. fits: in absolute time or relative to the boot. after: in
// absolute time and relative to the boot.
type legacyMeaning struct {
	held, trusted, local, sameHost, boot, initial bool
	presence                                      probe.Presence
	started, fits, after                          bool
	nested                                        bool
}

func (m legacyMeaning) verdict() identity.Verdict {
	comparable := m.trusted && m.local && m.sameHost && m.boot && m.initial
	running := m.presence == probe.Running && m.started
	nobody := m.presence == probe.Missing || m.presence == probe.ThreadOnly ||
		m.presence == probe.Exited
	switch {
	case m.held || comparable && running && m.fits:
		return identity.Alive
	case comparable && !m.nested && (nobody || running && !m.fits && m.after):
		return identity.Gone
	}
	return identity.Unknown
}

type legacyAxis []func(*world, *legacyMeaning)

func eachLegacy(w world, m legacyMeaning, axes []legacyAxis, visit func(*world, *legacyMeaning)) {
	if len(axes) == 0 {
		visit(&w, &m)
		return
	}
	for _, value := range axes[0] {
		changed, means := w, m
		value(&changed, &means)
		eachLegacy(changed, means, axes[1:], visit)
	}
}

// change is an axis value that means nothing, or nothing good.
func change(f func(*world)) func(*world, *legacyMeaning) {
	return func(w *world, _ *legacyMeaning) { f(w) }
}

func TestEveryLegacyCombination(t *testing.T) {
	t.Parallel()
	total, verdicts := 0, map[identity.Verdict]int{}
	eachLegacy(*legacy(), legacyMeaning{}, legacyAxes, func(w *world, m *legacyMeaning) {
		f := w.decide()
		checkFinding(t, f)
		if want := m.verdict(); f.Verdict != want {
			t.Errorf("%v, want %v: %+v", f, want, *m)
		}
		if t.Failed() {
			t.FailNow()
		}
		total++
		verdicts[f.Verdict]++
	})
	t.Logf("%d combinations: %v", total, verdicts)
	if len(verdicts) != 3 {
		t.Errorf("verdicts: %v", verdicts)
	}
}

var legacyAxes = []legacyAxis{
	{
		func(w *world, m *legacyMeaning) { lock(identity.LockHeld)(w); m.held = true },
		change(lock(identity.LockFree)),
		change(lock(identity.LockUntested)),
	},
	{func(_ *world, m *legacyMeaning) { m.trusted = true }, change(untrusted)},
	{func(_ *world, m *legacyMeaning) { m.local = true }, change(readerShared)},
	{change(all()), change(sharedSameBoot)},
	{
		func(_ *world, m *legacyMeaning) { m.sameHost = true },
		change(func(w *world) { w.o.HostID = "another" }),
	},
	{ // the process that has the number; clocks move before the boots are compared
		func(w *world, m *legacyMeaning) { absent(probe.Missing)(w); m.presence = probe.Missing },
		func(w *world, m *legacyMeaning) {
			absent(probe.ThreadOnly)(w)
			m.presence = probe.ThreadOnly
		},
		func(w *world, m *legacyMeaning) { presence(probe.Exited)(w); m.presence = probe.Exited },
		change(absent(probe.PresenceUnknown)),
		runs(false, false, func(w *world) {
			w.o.Process.StartedAt = probe.Unknown[time.Time]("stat", errDenied)
		}, false),
		runs(true, false, all(), true),
		// Only relative to the boot, and only in absolute time.
		runs(true, false, bootMoved(60*time.Second), true),
		runs(true, false, all(bootMoved(60*time.Second), startedAt(legacyStart)), true),
		runs(false, false, startedAt(legacyWritten-time.Second), true),
		runs(false, true, startedAt(legacyReused), true),
		// After the record by one measure only, and fitting by none.
		runs(false, false, all(startedAt(legacyWritten-40*time.Second),
			bootMoved(100*time.Second)), true),
		runs(false, false, all(startedAt(legacyWritten+60*time.Second),
			bootMoved(-100*time.Second)), true),
	},
	{
		func(_ *world, m *legacyMeaning) { m.boot = true },
		change(func(w *world) { w.c.BootStartMS += 240_000 }),
		change(func(w *world) { w.c.BootStartMS -= 240_000 }),
		change(func(w *world) { w.o.Host.Boot.StartedAt = probe.Fact[time.Time]{} }),
	},
	{
		func(_ *world, m *legacyMeaning) { m.initial = true },
		change(func(w *world) { w.o.Host.Namespaces.PIDInitial = probe.Known(false, "scripted") }),
		change(func(w *world) { w.o.Host.Namespaces.PIDInitial = probe.Fact[bool]{} }),
	},
	{
		change(all()),
		change(nested(probe.Running, legacyReused)),
		change(nested(probe.Exited, legacyStart)),
		func(w *world, m *legacyMeaning) { nested(probe.Running, legacyStart)(w); m.nested = true },
		func(w *world, m *legacyMeaning) { nestedUnreadable(w); m.nested = true },
		func(w *world, m *legacyMeaning) { nestedIncomplete(w); m.nested = true },
	},
}

// runs is a running process of that number that fits, started after, or neither.
func runs(fits, after bool, f func(*world), started bool) func(*world, *legacyMeaning) {
	return func(w *world, m *legacyMeaning) {
		f(w)
		m.presence, m.started, m.fits, m.after = probe.Running, started, fits, after
	}
}
