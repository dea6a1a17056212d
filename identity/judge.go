package identity

import "strconv"

// Decide is the table of verdicts: a pure function of what the record claims and what is seen. The
// rows are tried in this order, and alive always comes before gone.
//
//	 1  no record                                           free
//	 2  an owner's kernel lock is held, record or not       alive    kernel-lock-held
//	 3  torn record, local, provably nobody has it open     gone     record-orphaned
//	 4  record otherwise unusable                           unknown  record-…
//	 5  the recorded process exists and has not exited      alive    process-running
//	 6  kernel lock free (A), and genuine boot ids differ   gone     machine-restarted
//	 7  A, and the process is missing, another, or exited   gone     no-such-process, …
//	 8  A, and nothing can be said about the process        gone     kernel-lock-released
//	    (a lock that counts and cannot be tested            unknown  kernel-lock-unreadable)
//	 9  A does not count, local; process missing, another,
//	    or exited                                           gone     as row 7
//	    (a lock that may count and cannot be tested         unknown  kernel-lock-unreadable)
//	10  A does not count, not local                         unknown  shared-filesystem
//	11  A does not count, boots differ                      unknown  other-boot
//	12  A does not count, and nothing can be said about
//	    the process                                         unknown  the reason why
//
// A counts when the record says that its owner held a kernel lock, the file is the very file that
// carried the record, and owner and reader both see a local filesystem. It may count when the file
// is not known to be another one. Policy.SharedSameBoot stands for the condition local of rows 9
// and 10. Stamps (no lock file) have rows 5, 9, 11 and 12, without the condition local. Legacy
// records have rules of their own.
func Decide(c Claim, seen Observation, p Policy) Finding { return decide(&c, &seen, p) }

func decide(c *Claim, seen *Observation, p Policy) Finding {
	switch {
	case c.Form == NoRecord:
		return Finding{Verdict: Free, Sentence: "there is no record: nobody holds it"} // row 1
	case c.Form == Stamp:
		return decideStamp(c, seen)
	case seen.KernelLock == LockHeld:
		return held(c, seen) // row 2
	case seen.Untrusted != "":
		return Finding{Unknown, RecordUntrusted,
			"the record cannot be trusted: " + seen.Untrusted,
			[]Evidence{{Sentence: seen.Untrusted, Source: "owner and mode of the record"}}}
	case c.Form == Torn:
		return decideTorn(c, seen) // row 3
	case c.Form == Legacy:
		return decideLegacy(c, seen)
	case c.Form != WithProof:
		return unusable(c) // row 4
	}
	return decideProof(c, seen, p)
}

func decideStamp(c *Claim, seen *Observation) Finding {
	if c.Owner.PID <= 0 {
		return Finding{Unknown, NothingRecorded, "no process is recorded", nil}
	}
	if c.Owner.OS != seen.Host.OS {
		return otherOS(c, seen)
	}
	return aboutProcess(c, seen, nil).finding()
}

func decideProof(c *Claim, seen *Observation, p Policy) Finding {
	if c.Owner.OS != seen.Host.OS {
		return otherOS(c, seen)
	}
	lock := aboutLock(c, seen)
	b := aboutProcess(c, seen, lock.evidence)
	evidence := b.evidence
	finding := func(v Verdict, r Reason, sentence string) Finding {
		return Finding{v, r, sentence, evidence}
	}
	local := c.Local && seen.Filesystem.Local
	switch {
	case b.verdict == Alive: // row 5
		return finding(Alive, ProcessRunning, b.sentence)
	case lock.counts && seen.KernelLock == LockFree && b.bootsDiffer: // row 6
		return finding(Gone, MachineRestarted, "the machine was restarted since, "+
			"and the owner's kernel lock on this very file is free")
	case lock.counts && seen.KernelLock == LockFree && b.verdict == Gone: // row 7
		return finding(Gone, b.reason, b.sentence)
	case lock.counts && seen.KernelLock == LockFree: // row 8
		return finding(Gone, KernelLockReleased, "the owner held the kernel lock "+
			"on this very file for as long as it lived, and it is free")
	case lock.counts, lock.untested && b.verdict == Gone && (local || p.SharedSameBoot):
		// Something that the owner started may hold the lock still, although its own number is
		// free: the process alone is no proof where a lock is claimed that cannot be tested.
		return finding(Unknown, KernelLockUnreadable,
			"the owner's kernel lock on the record cannot be tested: "+errText(seen.LockErr))
	case b.verdict == Gone && (local || p.SharedSameBoot): // rows 9 and 10
		return finding(Gone, b.reason, b.sentence)
	case !local && !p.SharedSameBoot: // row 10
		evidence = append([]Evidence{notLocal(c, seen)}, evidence...)
		return finding(Unknown, SharedFilesystem,
			"other machines may mount this filesystem and hold this lock")
	default: // rows 11 and 12
		return finding(Unknown, b.reason, b.sentence)
	}
}

func held(c *Claim, seen *Observation) Finding {
	f := Finding{Verdict: Alive, Reason: KernelLockHeld}
	f.Evidence = append(make([]Evidence, 0, mostEvidence), Evidence{
		Sentence: "the kernel lock on the record is held, and only owners ever take it",
		Source:   "kernel lock", Recorded: c.KernelLock, Observed: "held",
	})
	if c.Form != WithProof && c.Form != Legacy {
		f.Sentence = "an owner holds the kernel lock on the record"
		return f
	}
	if c.Form == WithProof && c.Owner.OS == seen.Host.OS {
		b := aboutProcess(c, seen, f.Evidence)
		f.Evidence = b.evidence
		switch b.verdict {
		case Gone:
			f.Sentence = who(&c.Owner) + " is gone, but something that it started still holds " +
				"the kernel lock on the record"
			return f
		case Alive:
			f.Sentence = b.sentence
			return f
		}
	}
	f.Sentence = who(&c.Owner) + " holds the kernel lock on the record"
	return f
}

func decideTorn(c *Claim, seen *Observation) Finding {
	what := map[Reason]string{
		RecordEmpty:    "the record is empty",
		RecordNUL:      "the record has only NUL bytes: a write lost in a power cut",
		RecordCutShort: "the record is cut short",
	}[c.Flaw]
	orphaned := func(e Evidence) Finding {
		return Finding{Gone, RecordOrphaned,
			what + ", and no process has it open: its writer is gone", []Evidence{e}}
	}
	switch {
	case !seen.Filesystem.Local:
		return Finding{Unknown, c.Flaw, what + ", on a filesystem that other machines may mount",
			[]Evidence{{Sentence: "the filesystem is " + seen.Filesystem.Type.String() +
				", which is not known to be local", Source: seen.Filesystem.Type.Source}}}
	case seen.Alone:
		return orphaned(Evidence{Sentence: "the kernel granted a write lease on the file, " +
			"which it does only when nobody else has it open", Source: "fcntl(F_SETLEASE)",
			Observed: "not open"})
	case seen.Opened && len(seen.Openers.Found) == 0:
		return Finding{Unknown, c.Flaw, what + ", and a process has it open",
			[]Evidence{{Sentence: "the kernel granted no write lease on the file: " +
				"somebody has it open", Source: "fcntl(F_SETLEASE)", Observed: "open"}}}
	case !seen.Scanned || seen.Openers.Incomplete != nil && len(seen.Openers.Found) == 0:
		return Finding{Unknown, c.Flaw,
			what + ", and not every process can be asked whether it has it open",
			[]Evidence{{Sentence: "who has the file open cannot be said for every process",
				Source: "scan of all descriptors", Err: errText(seen.Openers.Incomplete)}}}
	case len(seen.Openers.Found) > 0:
		f := Finding{Verdict: Unknown, Reason: c.Flaw,
			Sentence: what + ", and a process has it open"}
		for _, o := range seen.Openers.Found {
			f.Evidence = append(f.Evidence, Evidence{
				Sentence: "process " + strconv.Itoa(o.PID) + named(o.Name) + " has it open",
				Source:   "scan of all descriptors"})
		}
		return f
	}
	return orphaned(Evidence{
		Sentence: "every descriptor of every process was looked at: nobody has the file open",
		Source:   "scan of all descriptors", Observed: "not open"})
}

func unusable(c *Claim) Finding {
	sentence := map[Reason]string{
		RecordNotRegular: "what stands at the lock's path is not a regular file",
		RecordTooLarge:   "the file at the lock's path is larger than any record",
		RecordNewer:      "the record has a newer format than this version knows",
		RecordLeaseV1:    "the record has the older lease-v1 format, which names no owner",
		RecordDamaged:    "the record is damaged",
		RecordForeign:    "the file at the lock's path was not written by this tool",
		RecordUnreadable: "the record could not be read",
		RecordChanging:   "the record was replaced again and again while it was looked at",
		NotPermitted:     "the record may not be read by this user",
	}[c.Flaw]
	if sentence == "" {
		sentence = "the record cannot be used"
	}
	return Finding{Unknown, c.Flaw, sentence, nil}
}

func otherOS(c *Claim, seen *Observation) Finding {
	return Finding{Unknown, OtherOS, "the record was written on another operating system",
		[]Evidence{{Sentence: "written on " + c.Owner.OS + ", read on " + seen.Host.OS,
			Recorded: c.Owner.OS, Observed: seen.Host.OS}}}
}

func notLocal(c *Claim, seen *Observation) Evidence {
	e := Evidence{Source: seen.Filesystem.Type.Source, Recorded: c.File.FS,
		Observed: seen.Filesystem.Type.String()}
	switch {
	case !seen.Filesystem.Local:
		e.Sentence = "the filesystem is " + e.Observed + ": other machines may mount it"
	default:
		e.Sentence = "the owner saw the filesystem as " + orUnknown(c.File.FS) +
			", which other machines may mount"
	}
	return e
}

// who names a process for people.
func who(id *Identity) string { return whoIs(id, strconv.Itoa(id.PID), "") }

// whoIs is who, with its number in digits, and what it is. It is in one piece.
func whoIs(id *Identity, pid, what string) string {
	open, program, end := inBrackets(id.Program)
	return "process " + pid + open + program + end + what
}

func named(program string) string {
	open, program, end := inBrackets(program)
	return open + program + end
}

// inBrackets returns the three parts of a program's name behind a number.
func inBrackets(program string) (open, name, end string) {
	if program == "" {
		return "", "", ""
	}
	if len(program) > maxNamed {
		if r := []rune(program); len(r) > maxNamed {
			program = string(r[:maxNamed]) + "…"
		}
	}
	return " (", label(program), ")"
}

// maxNamed is how many characters of a program's name are told: no name that this toolkit writes is
// longer, and a record may hold any.
const maxNamed = 64

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func errText(err error) string {
	if err == nil {
		return "it was not tested"
	}
	return err.Error()
}
