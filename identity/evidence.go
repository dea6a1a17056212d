package identity

import (
	"errors"
	"strconv"

	"github.com/probate-dev/probate/probe"
)

// mostEvidence is what a verdict mostly consists of: the lock, boot, identity and number.
const mostEvidence = 4

// lockEvidence is evidence A: about the kernel lock on the record's file.
type lockEvidence struct {
	counts   bool // the file is the owner's own, and both see a local filesystem
	untested bool // the file may be the owner's own, and whether somebody holds it is not known
	evidence []Evidence
}

func aboutLock(c *Claim, seen *Observation) lockEvidence {
	said := ""
	switch seen.KernelLock {
	case LockHeld:
		said = "held"
	case LockFree:
		said = "free"
	}
	e := Evidence{Source: "kernel lock", Recorded: c.KernelLock, Observed: said}
	state := "is " + said
	if seen.KernelLock == LockUntested {
		state, e.Err = "could not be tested", errText(seen.LockErr)
	}
	same, why := sameFile(c, seen)
	out := lockEvidence{
		untested: c.KernelLock != "" && same != different && seen.KernelLock == LockUntested,
	}
	switch {
	case c.KernelLock == "":
		e.Sentence = "the owner recorded no kernel lock, so a free one says nothing"
	case same != equal:
		e.Sentence = "the kernel lock " + state + ", but does not count: " + why
	case !c.Local || !seen.Filesystem.Local:
		e.Sentence = "the kernel lock " + state +
			", but does not count on a filesystem that is not local"
	case seen.KernelLock == LockUntested:
		out.counts = true
		e.Sentence = "the kernel lock on this very file could not be tested"
	default:
		out.counts = true
		e.Sentence = "the kernel lock on this very file " + state +
			", and its owner held it (" + seen.File.FS + ", local)"
	}
	out.evidence = append(make([]Evidence, 0, mostEvidence), e)
	return out
}

// sameFile compares the file now at the record's path with the one that carried the record when it
// was written, and says why they are not known to be one. A restart may number filesystems anew:
// then type and inode must do.
func sameFile(c *Claim, seen *Observation) (sameness, string) {
	switch {
	case c.File.FS == "" || c.File.Inode == 0:
		return incomparable, "the record does not name its file"
	case seen.File.FS == "" || seen.File.Inode == 0:
		return incomparable, "the file could not be identified"
	case c.File.FS != seen.File.FS || c.File.Inode != seen.File.Inode:
		return different, "the record lies in another file than the one that it was written to"
	case bootsDiffer(&c.Owner, &seen.Host):
		return equal, ""
	case c.File.ID == "" || seen.File.ID == "":
		return incomparable, "the filesystem could not be identified"
	case c.File.ID != seen.File.ID:
		return different,
			"the record lies on another filesystem than the one that it was written to"
	}
	return equal, ""
}

func bootsDiffer(id *Identity, h *probe.Host) bool {
	return id.Boot != "" && h.Boot.ID.Known && id.Boot != h.Boot.ID.Value
}

// processEvidence is evidence B: about the process. Its verdict is Unknown, with the reason why,
// wherever the number cannot be given the meaning that it had for the owner.
type processEvidence struct {
	verdict     Verdict
	reason      Reason
	sentence    string
	bootsDiffer bool
	evidence    []Evidence
}

func (b processEvidence) finding() Finding {
	return Finding{b.verdict, b.reason, b.sentence, b.evidence}
}

func (b processEvidence) with(v Verdict, r Reason, sentence string) processEvidence {
	b.verdict, b.reason, b.sentence = v, r, sentence
	return b
}

// aboutProcess adds to the evidence that there is already.
func aboutProcess(c *Claim, seen *Observation, evidence []Evidence) processEvidence {
	b := processEvidence{evidence: evidence}
	id, host := &c.Owner, &seen.Host
	if id.PID <= 0 {
		return b.with(Unknown, NothingRecorded, "no process is recorded")
	}
	boot := Evidence{Source: host.Boot.ID.Source, Recorded: id.Boot}
	boot.Observed = value(host.Boot.ID)
	note := func(e Evidence, sentence string) {
		e.Sentence = sentence
		b.evidence = append(b.evidence, e)
	}
	switch {
	case id.Boot == "":
		note(boot, "the record names no genuine boot")
		return b.with(Unknown, BootUnreadable, "the owner could not say under which boot it ran")
	case !host.Boot.ID.Known:
		boot.Err = unread(host.Boot.ID)
		note(boot, "the boot id cannot be read here")
		return b.with(Unknown, BootUnreadable, "this process cannot say under which boot it runs")
	case id.Boot != host.Boot.ID.Value:
		note(boot, "written under another boot")
		b.bootsDiffer = true
		return b.with(Unknown, OtherBoot, "the record was written under another boot")
	}
	note(boot, "same boot as now")

	if samePIDNamespace(id, host) {
		return b.aboutNumber(id, host, &seen.Process)
	}
	ns := Evidence{Source: host.Namespaces.PID.Source, Recorded: nonZero(id.PIDNS),
		Observed: nonZero(value(host.Namespaces.PID))}
	switch {
	case id.PIDNS == 0 || !host.Namespaces.PID.Known:
		if !host.Namespaces.PID.Known {
			ns.Err = unread(host.Namespaces.PID)
		}
		note(ns, "the pid namespace is not known on both sides")
		return b.with(Unknown, NamespaceUnreadable, "which process has number "+
			strconv.Itoa(id.PID)+" for the owner cannot be said from here")
	default:
		note(ns, "written in another pid namespace, where the number means another process")
		return b.with(Unknown, OtherPIDNamespace, "the owner ran in another pid namespace")
	}
}

// aboutNumber compares the process that has the recorded number now. Boot and pid namespace agree.
func (b processEvidence) aboutNumber(
	id *Identity, host *probe.Host, p *probe.Process,
) processEvidence {
	pid := strconv.Itoa(id.PID)
	number := Evidence{Recorded: pid, Observed: p.Presence.String()}
	for _, r := range p.Readings {
		number.Source = r.Source
		if r.Err != "" {
			number.Err = r.Source + ": " + r.Err
		}
	}
	say := func(sentence string) {
		number.Sentence = sentence
		b.evidence = append(b.evidence, number)
	}
	same, why, how := sameProcess(id, host, p)
	switch p.Presence {
	case probe.Missing:
		say("the kernel knows no process " + pid)
		return b.with(Gone, NoSuchProcess, who(id)+" does not exist any more")
	case probe.ThreadOnly:
		say("number " + pid + " is only a thread of another process now")
		return b.with(Gone, NoSuchProcess, who(id)+" does not exist any more")
	case probe.Exited:
		say("process " + pid + " has exited and no thread of it runs; " + kept(host.OS))
		b.evidence = append(b.evidence, how)
		if same == different {
			return b.with(Gone, PIDReused, who(id)+" is gone: the number went to another process, "+
				"which has exited too")
		}
		return b.with(Gone, ProcessExited, who(id)+" has exited; "+kept(host.OS))
	case probe.Running:
	default:
		say("whether process " + pid + " exists could not be found out")
		return b.with(Unknown, ProcessUnreadable,
			"whether "+who(id)+" exists could not be found out")
	}
	b.evidence = append(b.evidence, how)
	switch same {
	case equal:
		state := "running"
		if s := p.State; s.Known && (s.Value == "stopped" || s.Value == "traced") {
			state = s.Value // stopped is not gone: it can be continued, and write
		}
		if number.Err != "" && !p.State.Known {
			say("process " + pid + " is running, and whether it is stopped cannot be read here")
		} else {
			say("process " + pid + isState(state))
		}
		return b.with(Alive, ProcessRunning, whoIs(id, pid, isState(state)))
	case different:
		say("process " + pid + named(value(p.Name)) + " is another process than the owner")
		return b.with(Gone, PIDReused, who(id)+" is gone: another process has the number now")
	default:
		say("a process " + pid + named(value(p.Name)) +
			" exists, which may be the owner or another")
		return b.with(Unknown, why,
			"whether process "+pid+" is the owner cannot be said: "+how.Sentence)
	}
}

// isState is what a process that exists is.
func isState(state string) string {
	if state == "running" {
		return " is running" // nearly always, without a copy
	}
	return " is " + state
}

// kept says why a system still knows a process that has exited.
func kept(os string) string {
	if os == "windows" {
		return "a program still has a handle on it"
	}
	return "its parent has not reaped it yet"
}

// sameness is three-valued: what could not be read is neither equal nor different.
type sameness int

const (
	incomparable sameness = iota
	equal
	different
)

// sameProcess compares exact identities: the pidfd inode where both are known, for it is unique for
// the boot in every namespace, or the serial number, else the start value, which means the same
// only within one time namespace and for one kind. What is incomparable has a reason.
func sameProcess(id *Identity, host *probe.Host, p *probe.Process) (sameness, Reason, Evidence) {
	if id.PIDFD != 0 && p.PIDFD.Known && p.PIDFD.Value != 0 {
		e := Evidence{Source: p.PIDFD.Source, Recorded: kinded("pidfd:", id.PIDFD)}
		if e.Observed = e.Recorded; id.PIDFD != p.PIDFD.Value {
			e.Observed = kinded("pidfd:", p.PIDFD.Value)
		}
		return compared(e, id.PIDFD == p.PIDFD.Value, "pidfd inode")
	}
	if id.Serial == 0 || !p.Serial.Known || p.Serial.Value == 0 {
		return sameStart(id, host, p)
	}
	e := Evidence{Source: p.Serial.Source, Recorded: kinded("serial:", id.Serial),
		Observed: kinded("serial:", p.Serial.Value)}
	if id.Serial == p.Serial.Value {
		return compared(e, true, "serial number")
	}
	// Two processes that had the number one after the other started at different moments.
	if same, _, _ := sameStart(id, host, p); same == equal {
		e.Sentence = "the serial number differs, and yet the start is the recorded one"
		return incomparable, StartUnreadable, e
	}
	return compared(e, false, "serial number")
}

// sameStart compares start values.
func sameStart(id *Identity, host *probe.Host, p *probe.Process) (sameness, Reason, Evidence) {
	e := Evidence{Source: p.Start.Source, Recorded: string(id.Start)}
	switch {
	case !id.Start.Valid():
		e.Recorded = ""
		e.Sentence = "the record does not say when its owner started"
		return incomparable, StartUnreadable, e
	case !p.Start.Known || !p.Start.Value.Valid():
		e.Err = unread(p.Start)
		e.Sentence = "when the process started cannot be read here"
		return incomparable, StartUnreadable, e
	}
	e.Observed = string(p.Start.Value)
	switch {
	case id.Start.Kind() != p.Start.Value.Kind():
		e.Sentence = "the start values are of different kinds"
		return incomparable, StartUnreadable, e
	}
	switch sameTimeNamespace(id, host) {
	case incomparable:
		e.Sentence = "in which time namespace the start value was read is not known on both sides"
		return incomparable, NamespaceUnreadable, e
	case different:
		e.Sentence = "the start value was read in another time namespace"
		return incomparable, OtherTimeNamespace, e
	}
	return compared(e, id.Start == p.Start.Value, "start")
}

// kinded is a number with its kind before it.
func kinded(kind string, n uint64) string {
	var buf [32]byte
	return string(strconv.AppendUint(append(buf[:0], kind...), n, 10))
}

func compared(e Evidence, same bool, what string) (sameness, Reason, Evidence) {
	if same {
		e.Sentence = "the " + what + " is the recorded one"
		return equal, "", e
	}
	e.Sentence = "the " + what + " differs: recorded " + e.Recorded + ", now " + e.Observed
	return different, "", e
}

// sameTimeNamespace compares the namespaces in which two start values were read. Systems other than
// Linux have none, and neither has Linux before 5.6: with equal boots both sides run on one kernel.
func sameTimeNamespace(id *Identity, host *probe.Host) sameness {
	ns := host.Namespaces.Time
	switch {
	case host.OS != "linux":
		return equal
	case id.TimeNS == 0 && !ns.Known && errors.Is(ns.Err, errors.ErrUnsupported):
		return equal
	case id.TimeNS == 0 || !ns.Known || ns.Value == 0:
		return incomparable
	case id.TimeNS != ns.Value:
		return different
	}
	return equal
}
