package identity

import (
	"strconv"
	"time"

	"github.com/probate-dev/probate/probe"
)

// Tolerances of legacy records, whose writers estimate times from uptimes: their boot start wanders
// with the clock, their process start is late by up to a second on a loaded machine.
const (
	legacyBootTolerance  = 120 * time.Second
	legacyStartTolerance = 5 * time.Second
)

// decideLegacy judges a record by a record-v2 program in another language. It has no exact values
// and no kernel lock, and its process number has no namespace, so that only little can be proven:
//
//   - same host id and boot starts within 120 s, on a local filesystem, else unknown;
//   - alive when the number's process started when the record says, within 5 s;
//   - gone when no process has the number (missing, only a thread, or exited: a number belongs to
//     one process at a time), or when the one that has it differs in start by more than 5 s in
//     absolute time and relative to the boot (a clock step moves only one of them) and started
//     more than 5 s after the record was written, again by both (which a process that inherited
//     the number always did, and which a launcher that waited and one clock step cannot imitate
//     together);
//   - and gone only in the initial pid namespace, with no fitting process of that number in any
//     namespace below it.
func decideLegacy(c *Claim, seen *Observation) Finding {
	var evidence []Evidence
	finding := func(v Verdict, r Reason, sentence string) Finding {
		return Finding{v, r, sentence, evidence}
	}
	note := func(e Evidence) { evidence = append(evidence, e) }
	note(Evidence{Sentence: "written by a record-v2 program without proof: coarse values only"})

	boot := seen.Host.Boot.StartedAt
	switch {
	case !seen.Filesystem.Local:
		note(Evidence{Sentence: "the filesystem is " + seen.Filesystem.Type.String() +
			": other machines may mount it", Source: seen.Filesystem.Type.Source})
		return finding(Unknown, SharedFilesystem,
			"other machines may mount this filesystem and hold this lock")
	case c.HostID != seen.HostID:
		note(Evidence{Sentence: "the host id is another one", Source: "host name and machine id",
			Recorded: c.HostID, Observed: seen.HostID})
		return finding(Unknown, OtherMachine, "the record was written on another machine, "+
			"or under another host name")
	case !boot.Known:
		note(Evidence{Sentence: "the start of the boot cannot be read here", Source: boot.Source,
			Err: unread(boot)})
		return finding(Unknown, BootUnreadable,
			"this process cannot say when the machine was started")
	}
	bootDiff := boot.Value.Sub(time.UnixMilli(c.BootStartMS))
	if bootDiff.Abs() > legacyBootTolerance {
		note(Evidence{Sentence: "the machine was started at another time", Source: boot.Source,
			Recorded: ms(c.BootStartMS), Observed: boot.Value.UTC().Format(timeLayout)})
		return finding(Unknown, OtherBoot,
			"the record was written under another boot, or before the clock was set")
	}
	initial := seen.Host.Namespaces.PIDInitial
	if !initial.Known || !initial.Value {
		note(Evidence{Sentence: "this process is not known to be in the initial pid namespace",
			Source: initial.Source})
		return finding(Unknown, NamespaceUnrecorded,
			"the record does not say in which pid namespace its number counts")
	}

	gone := func(r Reason, sentence string) Finding {
		if f, may := nestedMayBe(c, seen); may {
			evidence = append(evidence, f.Evidence...)
			return finding(Unknown, NamespaceUnrecorded, f.Sentence)
		}
		return finding(Gone, r, sentence)
	}
	p, pid := seen.Process, strconv.Itoa(c.Owner.PID)
	switch p.Presence {
	case probe.Missing, probe.ThreadOnly:
		note(Evidence{Sentence: "the kernel knows no process " + pid,
			Observed: p.Presence.String()})
		return gone(NoSuchProcess, who(&c.Owner)+" does not exist any more")
	case probe.Exited:
		note(Evidence{Sentence: "process " + pid + " has exited; " + kept(seen.Host.OS),
			Observed: p.Presence.String()})
		return gone(ProcessExited, who(&c.Owner)+" has exited; "+kept(seen.Host.OS))
	case probe.Running:
	default:
		note(Evidence{Sentence: "whether process " + pid + " exists could not be found out"})
		return finding(Unknown, ProcessUnreadable,
			"whether "+who(&c.Owner)+" exists could not be found out")
	}
	if !p.StartedAt.Known {
		note(Evidence{Sentence: "when process " + pid + " started cannot be read here",
			Source: p.StartedAt.Source, Err: unread(p.StartedAt)})
		return finding(Unknown, StartUnreadable,
			"whether process "+pid+" is the owner cannot be said")
	}
	e := Evidence{Source: p.StartedAt.Source, Recorded: ms(c.ProcessStartMS),
		Observed: p.StartedAt.Value.UTC().Format(timeLayout)}
	switch {
	case legacyFits(c, seen, p.StartedAt.Value):
		e.Sentence = "process " + pid + " started when the record says, within 5 s"
		note(e)
		return finding(Alive, ProcessRunning, who(&c.Owner)+" is running")
	case legacyAfter(c, seen, p.StartedAt.Value):
		e.Sentence = "process " + pid + named(value(p.Name)) +
			" started after the record was written: recorded " + e.Recorded + ", now " + e.Observed
		note(e)
		return gone(PIDReused, who(&c.Owner)+" is gone: another process has the number now")
	default:
		e.Sentence = "process " + pid + " started at another time than recorded, " +
			"but not clearly after the record was written: recorded " + e.Recorded +
			", now " + e.Observed
		note(e)
		return finding(Unknown, LegacyAmbiguous, "whether process "+pid+
			" is the owner cannot be said: a clock step or a launcher can explain its start")
	}
}

// legacyFits reports whether a start may be the recorded one: in absolute time, or relative to the
// boot.
func legacyFits(c *Claim, seen *Observation, start time.Time) bool {
	absolute, relative := legacyLater(c, seen, start, time.UnixMilli(c.ProcessStartMS))
	return absolute.Abs() <= legacyStartTolerance || relative.Abs() <= legacyStartTolerance
}

// legacyAfter reports whether a process that started then cannot have written the record: it
// started after that, in absolute time and relative to the boot. A clock step after the record was
// written moves only the first, one before moves only the second.
func legacyAfter(c *Claim, seen *Observation, start time.Time) bool {
	if c.Since.IsZero() {
		return false
	}
	absolute, relative := legacyLater(c, seen, start, c.Since)
	return absolute > legacyStartTolerance && relative > legacyStartTolerance
}

// legacyLater returns by how much a start that was read here is later than a time that was
// recorded, in absolute time, and with both counted from the boot as their own side knows it.
func legacyLater(
	c *Claim, seen *Observation, start, recorded time.Time,
) (absolute, relative time.Duration) {
	sinceBoot := start.Sub(seen.Host.Boot.StartedAt.Value)
	recordedSinceBoot := recorded.Sub(time.UnixMilli(c.BootStartMS))
	return start.Sub(recorded), sinceBoot - recordedSinceBoot
}

// nestedMayBe reports whether the owner may be a process of a pid namespace below this one, in
// which it has the recorded number.
func nestedMayBe(c *Claim, seen *Observation) (Finding, bool) {
	for _, p := range seen.Nested.Found {
		if p.Presence == probe.Exited || p.Presence == probe.Missing {
			continue
		}
		start := p.StartedAt
		if start.Known && !legacyFits(c, seen, start.Value) && legacyAfter(c, seen, start.Value) {
			continue // it started well after the record was written
		}
		return Finding{
			Sentence: "a process in a pid namespace below has that number there, " +
				"and may be the owner",
			Evidence: []Evidence{{Sentence: "process " + strconv.Itoa(p.PID) +
				named(value(p.Name)) + " has number " + strconv.Itoa(c.Owner.PID) +
				" in its own pid namespace"}},
		}, true
	}
	if err := seen.Nested.Incomplete; err != nil {
		return Finding{
			Sentence: "not every process can be asked for its number in its own pid namespace",
			Evidence: []Evidence{{Sentence: "the scan of pid namespaces below is incomplete",
				Err: err.Error()}},
		}, true
	}
	return Finding{}, false
}

func ms(n int64) string { return time.UnixMilli(n).UTC().Format(timeLayout) }
