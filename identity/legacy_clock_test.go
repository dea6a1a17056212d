package identity_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// history is what happened on a machine with a record-v2 program on it, with times since the boot.
// Everything the program writes is an estimate from the wall clock, as the real ones make it.
type history struct {
	steps   []step        // of the wall clock
	start   time.Duration // the kernel starts the process that becomes the program
	exec    time.Duration // a launcher waits and then becomes the program
	load    time.Duration // the program estimates its start
	asleep  time.Duration // suspended between exec and load, which its uptime does not count
	boot    time.Duration // the program estimates the boot
	written time.Duration // the program writes the record
	read    time.Duration // a reader judges
}

type step struct{ at, by time.Duration }

// wall is what the wall clock says at a time since the boot.
func (h history) wall(at time.Duration) time.Time {
	t := probetest.BootTime.Add(at)
	for _, s := range h.steps {
		if s.at <= at {
			t = t.Add(s.by)
		}
	}
	return t
}

// world is what the reader sees, with a process of the number that started then.
func (h history) world(number probe.Presence, started time.Duration) *world {
	w := legacy()
	w.c.ProcessStartMS = h.wall(h.load).Add(-(h.load - h.exec - h.asleep)).UnixMilli()
	w.c.BootStartMS = h.wall(h.boot).Add(-h.boot).UnixMilli()
	w.c.Since = h.wall(h.written).Truncate(time.Millisecond)
	bootNow := h.wall(h.read).Add(-h.read)
	w.o.Host.Boot.StartedAt = probe.Known(bootNow, "scripted")
	if number == probe.Missing {
		absent(number)(w)
		return w
	}
	w.o.Process.Presence = number
	started = started.Truncate(10 * time.Millisecond)
	w.o.Process.StartedAt = probe.Known(bootNow.Add(started), "scripted")
	return w
}

func drawHistory(t *rapid.T) history {
	span := func(name string, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(0, most.Milliseconds()).Draw(t, name)) *
			time.Millisecond
	}
	var h history
	h.start = span("start", 24*time.Hour)
	h.exec = h.start + span("launcher waits", 2*time.Minute)
	h.asleep = span("asleep", 2*time.Minute)
	h.load = h.exec + h.asleep + span("loading", 100*time.Millisecond)
	h.boot = h.load + span("until boot is estimated", 2*time.Minute)
	h.written = h.boot + span("until written", 2*time.Minute)
	h.read = h.written + span("until read", 2*time.Minute)
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		by := span("step", 4*time.Minute) - 2*time.Minute
		h.steps = append(h.steps, step{h.start + span("step after", h.read-h.start), by})
	}
	return h
}

// stepsIn counts the clock steps between two moments.
func (h history) stepsIn(from, to time.Duration) (n int) {
	for _, s := range h.steps {
		if from < s.at && s.at <= to {
			n++
		}
	}
	return n
}

// However long a launcher waits or the machine sleeps, a living owner is not judged gone for steps
// of the clock. The one exception takes three accidents: a start that was estimated wrongly, a step
// back between the estimate of the boot and the writing of the record, and a step forward after
// that.
func TestLegacyClockSteps(t *testing.T) {
	verdicts := map[identity.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 100 {
			h := drawHistory(t)
			if h.stepsIn(h.boot, h.written) > 0 && h.stepsIn(h.written, h.read) > 0 {
				continue
			}
			f := h.world(probe.Running, h.start).decide()
			if f.Verdict == identity.Gone {
				t.Fatalf("%+v: %v", h, f)
			}
			verdicts[f.Verdict]++
		}
	})
	if verdicts[identity.Alive] == 0 || verdicts[identity.Unknown] == 0 {
		t.Errorf("the histories are all alike: %v", verdicts)
	}
}

// Without clock steps, an owner that is gone is judged so, whatever has its number now.
func TestLegacyGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 100 {
			h := drawHistory(t)
			h.steps = nil
			if f := h.world(probe.Missing, 0).decide(); said(f) != "gone no-such-process" {
				t.Fatalf("%+v: %v", h, f)
			}
			h.read += time.Minute
			reused := h.written + 5*time.Second + 20*time.Millisecond
			if f := h.world(probe.Running, reused).decide(); said(f) != "gone pid-reused" {
				t.Fatalf("%+v: %v", h, f)
			}
		}
	})
}

// A launcher waits 10 s before it becomes the program, and after the record was written the clock
// is set forward by 20 s, as it is when a virtual machine goes on. The owner runs all the time.
func TestLegacyLauncherAndClockStep(t *testing.T) {
	const s = time.Second
	h := history{start: 100 * s, exec: 110 * s, load: 110 * s, boot: 110 * s, written: 111 * s,
		read: 200 * s, steps: []step{{at: 150 * s, by: 20 * s}}}
	f := h.world(probe.Running, h.start).decide()
	wantFinding(t, "living owner", f, "unknown legacy-ambiguous")
}
