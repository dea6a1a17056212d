package mutants

// ofVerdicts are faults in what is seen of a process and in what follows from it: each would hand a
// lock on whose owner lives, or keep one from ever being handed on.
var ofVerdicts = []Mutant{
	verdict("eperm-as-dead", "probe", "TestErrnos",
		"a process that may not be asked about counts as missing.",
		Edit{"probe/process_linux.go",
			`	case unix.ESRCH:
		p.note(source, said(err))
		p.Presence = Missing
		return true
	case nil, unix.EPERM:`,
			`	case unix.ESRCH, unix.EPERM:
		p.note(source, said(err))
		p.Presence = Missing
		return true
	case nil:`}),
	verdict("eperm-confirms-missing", "probe", "TestErrnos",
		"a process that may not be asked about is taken for the second word that it is "+
			"missing.",
		Edit{"probe/process_linux.go",
			`	case unix.ESRCH:
		p.note(killSource(p.PID), said(err))`,
			`	case unix.ESRCH, unix.EPERM:
		p.note(killSource(p.PID), said(err))`},
		Edit{"probe/process_linux.go",
			`	case nil, unix.EPERM:
		p.note(killSource(p.PID), "a process or thread has this number")`,
			`	case nil:
		p.note(killSource(p.PID), "a process or thread has this number")`}),
	verdict("zombie-as-alive", "identity", "TestZombie",
		"an owner that has exited and is not reaped is never gone.",
		Edit{"identity/evidence.go",
			`	case probe.Running:
	default:`,
			`	case probe.Running, probe.Exited:
	default:`},
		Edit{"identity/evidence.go",
			`	case probe.Exited:
		say("process`,
			`	case probe.Presence(99):
		say("process`}),
	verdict("dead-leader-as-exited", "probe", "TestDeadLeaderWithLiveThreads",
		"a process whose first thread has ended counts as exited while others run.",
		Edit{"probe/procstat.go",
			`return s.deadLeader() && s.threads < 2`,
			`return s.deadLeader()`}),
	verdict("thread-as-process", "probe", "TestThreadOnly",
		"a number that is only a thread's now counts as its process's.",
		Edit{"probe/process_linux.go",
			`	if tgid != p.PID {`,
			`	if tgid == 0 {`}),
	verdict("no-start-compare", "identity", "TestFlips",
		"whoever has the number counts as the owner.",
		Edit{"identity/evidence.go",
			`return compared(e, id.Start == p.Start.Value, "start")`,
			`return compared(e, true, "start")`}),
	verdict("no-pidfd-compare", "identity", "TestFlips",
		"whoever has the number counts as the owner, where the kernel tells them apart.",
		Edit{"identity/evidence.go",
			`return compared(e, id.PIDFD == p.PIDFD.Value, "pidfd inode")`,
			`return compared(e, true, "pidfd inode")`}),
	verdict("unreadable-start-differs", "identity", "TestFlips",
		"a start that cannot be read counts as another one.",
		Edit{"identity/evidence.go",
			`		e.Sentence = "when the process started cannot be read here"
		return incomparable,`,
			`		e.Sentence = "when the process started cannot be read here"
		return different,`}),
	verdict("no-boot-compare", "identity", "TestFlips",
		"numbers of another boot count as those of this one.",
		Edit{"identity/evidence.go",
			`	case id.Boot != host.Boot.ID.Value:`,
			`	case false:`}),
	verdict("unreadable-boot-is-equal", "identity", "TestKnowsNothing",
		"a boot that neither side can name counts as the same.",
		Edit{"identity/evidence.go",
			`	case id.Boot == "":
		note`,
			`	case false:
		note`},
		Edit{"identity/evidence.go",
			`	case !host.Boot.ID.Known:`,
			`	case host.Boot.ID.Known && id.Boot == "":`}),
	verdict("mounted-boot-id-is-genuine", "identity", "TestMountedBootID",
		"a file that a container manager mounted over the boot id counts as the kernel's.",
		Edit{"probe/bootid_linux.go",
			`	if magic(st) != unix.PROC_SUPER_MAGIC {`,
			`	if false {`},
		Edit{"probe/bootid_linux.go",
			`	if !m.inPlace() {`,
			`	if false {`}),
	verdict("other-boot-is-gone", "identity", "TestFlips",
		"a record of another boot is gone although its lock is no proof.",
		Edit{"identity/judge.go",
			`	case lock.counts && seen.KernelLock == LockFree && b.bootsDiffer: // row 6`,
			`	case b.bootsDiffer: // row 6`}),
	verdict("no-namespace-compare", "identity", "TestOtherPIDNamespace",
		"numbers of another pid namespace count as those of this one.",
		Edit{"identity/identity.go",
			`	return id.PIDNS != 0 && ns.Known && ns.Value == id.PIDNS`,
			`	return ns.Known || id.PIDNS != 0`}),
	verdict("time-namespace-ignored", "identity", "TestOtherTimeNamespace",
		"starts that were read in different time namespaces are compared.",
		Edit{"identity/evidence.go",
			`	case id.TimeNS != ns.Value:
		return different`,
			`	case id.TimeNS != ns.Value:
		return equal`}),
	verdict("unreadable-time-namespace-is-equal", "identity", "TestPartialFacts",
		"time namespaces that are not known count as the same.",
		Edit{"identity/evidence.go",
			`	case id.TimeNS == 0 || !ns.Known || ns.Value == 0:
		return incomparable`,
			`	case id.TimeNS == 0 || !ns.Known || ns.Value == 0:
		return equal`}),
	verdict("kernel-lock-ignored", "identity", "TestFlips",
		"an owner whose process cannot be seen counts as gone while it holds the kernel "+
			"lock.",
		Edit{"identity/judge.go",
			`	case seen.KernelLock == LockHeld:
		return held(c, seen) // row 2
`,
			""}),
	verdict("untested-lock-is-free", "identity", "TestFlips",
		"a kernel lock that cannot be tested counts as free.",
		Edit{"identity/judge.go",
			`	case lock.counts && seen.KernelLock == LockFree: // row 8`,
			`	case lock.counts: // row 8`}),
	verdict("copied-record-counts", "identity", "TestFlips",
		"the free lock of a copy of a record counts as the owner's.",
		Edit{"identity/evidence.go",
			`	case same != equal:`,
			`	case same == incomparable:`}),
	verdict("unknown-file-counts", "identity", "TestFlips",
		"the free lock of a file that may be another one counts.",
		Edit{"identity/evidence.go",
			`	case same != equal:`,
			`	case same == different:`}),
	verdict("lock-of-shared-filesystem-counts", "identity", "TestFlips",
		"a lock that another machine's kernel may hold counts as free.",
		Edit{"identity/evidence.go",
			`	case !c.Local || !seen.Filesystem.Local:`,
			`	case !seen.Filesystem.Local:`}),
	verdict("local-check-dropped", "identity", "TestFlips",
		"a process that may be on another machine is looked for on this one.",
		Edit{"identity/judge.go",
			`	local := c.Local && seen.Filesystem.Local`,
			`	local := true`}),
	verdict("incomplete-scan-is-complete", "identity", "TestTorn",
		"a torn record is gone although somebody who could not be asked may have it open.",
		Edit{"identity/judge.go",
			`case !seen.Scanned || seen.Openers.Incomplete != nil && len(seen.Openers.Found) == 0:`,
			`case !seen.Scanned:`}),
	verdict("untrusted-record-counts", "identity", "TestUnusable",
		"a record that anybody may have written is believed.",
		Edit{"identity/judge.go",
			`	case seen.Untrusted != "":`,
			`	case false:`}),
	verdict("unknown-is-gone", "lockfile", "TestHostileContent",
		"a lock that cannot be judged is taken over.",
		Edit{"lockfile/acquire.go",
			`		switch s.finding.Verdict {
		case identity.Free:`,
			`		if s.finding.Verdict == identity.Unknown {
			s.finding.Verdict = identity.Gone
		}
		switch s.finding.Verdict {
		case identity.Free:`},
		Edit{"lockfile/takeover.go",
			`	if req.event == EventTakeover && s.finding.Verdict != identity.Gone {`,
			`	if req.event == EventTakeover && s.finding.Verdict == identity.Alive {`}),
	verdict("legacy-absolute-start-only", "identity", "TestLegacyClockSteps",
		"a clock step makes a living record-v2 owner gone.",
		Edit{"identity/legacy.go",
			`	return absolute > legacyStartTolerance && relative > legacyStartTolerance`,
			`	_ = relative
	return absolute > legacyStartTolerance`}),
	verdict("legacy-relative-start-only", "identity", "TestLegacyClockSteps",
		"a clock step before a record was written makes its living record-v2 owner gone.",
		Edit{"identity/legacy.go",
			`	return absolute > legacyStartTolerance && relative > legacyStartTolerance`,
			`	_ = absolute
	return relative > legacyStartTolerance`}),
	verdict("legacy-other-host", "identity", "TestLegacyFlips",
		"a record-v2 owner on another machine is looked for on this one.",
		Edit{"identity/legacy.go",
			`	case c.HostID != seen.HostID:`,
			`	case false:`}),
	verdict("legacy-nested-ignored", "identity", "TestLegacyFlips",
		"a record-v2 owner in a pid namespace below is not looked for.",
		Edit{"identity/legacy.go",
			`		if f, may := nestedMayBe(c, seen); may {`,
			`		if f, may := nestedMayBe(c, seen); may && f.Sentence == "" {`}),
	verdict("legacy-other-boot", "identity", "TestLegacyFlips",
		"a record-v2 owner of another boot is looked for in this one.",
		Edit{"identity/legacy.go",
			`	if bootDiff.Abs() > legacyBootTolerance {`,
			`	if bootDiff.Abs() > 1<<62 {`}),
	verdict("legacy-anywhere", "identity", "TestLegacyFlips",
		"a reader in a pid namespace takes a record-v2 number for one of its own.",
		Edit{"identity/legacy.go",
			`	if !initial.Known || !initial.Value {`,
			`	if false {`}),
}

// verdict is a mutant of a verdict, whom that test of a package must notice.
func verdict(name, pkg, test, why string, edits ...Edit) Mutant {
	return Mutant{Name: name, Why: why, Edits: edits,
		Suite: Suite{Package: pkg, Run: "^" + test + "$"}, Story: "--- FAIL: " + test}
}
