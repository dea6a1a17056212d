package mutants

// ofVerdicts are faults in what is seen of a process and in what follows from it: each would hand a
// lock on whose owner lives, or keep one from ever being handed on.
var ofVerdicts = []Mutant{
	verdict("eperm-as-dead", "a process that may not be asked about counts as missing.",
		"probe", "TestErrnos", Edit{"probe/process_linux.go",
			"	case unix.ESRCH:\n		p.note(source, said(err))\n		p.Presence = Missing\n		return true\n" +
				"	case nil, unix.EPERM:\n",
			"	case unix.ESRCH, unix.EPERM:\n		p.note(source, said(err))\n		p.Presence = Missing\n" +
				"		return true\n	case nil:\n"}),
	verdict("eperm-confirms-missing", "a process that may not be asked about is taken for the "+
		"second word that it is missing.", "probe", "TestErrnos", Edit{"probe/process_linux.go",
		"	case unix.ESRCH:\n		p.note(killSource(p.PID), said(err))\n",
		"	case unix.ESRCH, unix.EPERM:\n		p.note(killSource(p.PID), said(err))\n"}, Edit{
		"probe/process_linux.go",
		"	case nil, unix.EPERM:\n		p.note(killSource(p.PID), \"a process or thread has this number\")\n",
		"	case nil:\n		p.note(killSource(p.PID), \"a process or thread has this number\")\n"}),
	verdict("zombie-as-alive", "an owner that has exited and is not reaped is never gone.",
		"identity", "TestZombie", Edit{"identity/evidence.go", "	case probe.Running:\n	default:\n",
			"	case probe.Running, probe.Exited:\n	default:\n"}, Edit{"identity/evidence.go",
			"	case probe.Exited:\n		say(\"process", "	case probe.Presence(99):\n		say(\"process"}),
	verdict("dead-leader-as-exited", "a process whose first thread has ended counts as exited "+
		"while others run.", "probe", "TestDeadLeaderWithLiveThreads", Edit{"probe/procstat.go",
		"return s.deadLeader() && s.threads < 2", "return s.deadLeader()"}),
	verdict("thread-as-process", "a number that is only a thread's now counts as its process's.",
		"probe", "TestThreadOnly", Edit{"probe/process_linux.go", "	if tgid != p.PID {\n", "	if tgid == 0 {\n"}),
	verdict("no-start-compare", "whoever has the number counts as the owner.", "identity", "TestFlips",
		Edit{"identity/evidence.go", "return compared(e, id.Start == p.Start.Value, \"start\")",
			"return compared(e, true, \"start\")"}),
	verdict("no-pidfd-compare", "whoever has the number counts as the owner, where the kernel "+
		"tells them apart.", "identity", "TestFlips", Edit{"identity/evidence.go",
		"return compared(e, id.PIDFD == p.PIDFD.Value, \"pidfd inode\")",
		"return compared(e, true, \"pidfd inode\")"}),
	verdict("unreadable-start-differs", "a start that cannot be read counts as another one.",
		"identity", "TestFlips", Edit{"identity/evidence.go",
			"		e.Sentence = \"when the process started cannot be read here\"\n" +
				"		return incomparable,",
			"		e.Sentence = \"when the process started cannot be read here\"\n" +
				"		return different,"}),
	verdict("no-boot-compare", "numbers of another boot count as those of this one.", "identity",
		"TestFlips", Edit{"identity/evidence.go", "	case id.Boot != host.Boot.ID.Value:\n",
			"	case false:\n"}),
	verdict("unreadable-boot-is-equal", "a boot that neither side can name counts as the same.",
		"identity", "TestKnowsNothing", Edit{"identity/evidence.go", "	case id.Boot == \"\":\n		note",
			"	case false:\n		note"}, Edit{"identity/evidence.go",
			"	case !host.Boot.ID.Known:\n", "	case host.Boot.ID.Known && id.Boot == \"\":\n"}),
	verdict("mounted-boot-id-is-genuine", "a file that a container manager mounted over the boot "+
		"id counts as the kernel's.", "identity", "TestMountedBootID", Edit{"probe/bootid_linux.go",
		"	if magic(st) != unix.PROC_SUPER_MAGIC {\n", "	if false {\n"}, Edit{
		"probe/bootid_linux.go", "	if !m.inPlace() {\n", "	if false {\n"}),
	verdict("other-boot-is-gone", "a record of another boot is gone although its lock is no proof.",
		"identity", "TestFlips", Edit{"identity/judge.go",
			"	case lock.counts && seen.KernelLock == LockFree && b.bootsDiffer: // row 6",
			"	case b.bootsDiffer: // row 6"}),
	verdict("no-namespace-compare", "numbers of another pid namespace count as those of this one.",
		"identity", "TestOtherPIDNamespace", Edit{"identity/identity.go",
			"	return id.PIDNS != 0 && ns.Known && ns.Value == id.PIDNS\n",
			"	return ns.Known || id.PIDNS != 0\n"}),
	verdict("time-namespace-ignored", "starts that were read in different time namespaces are "+
		"compared.", "identity", "TestOtherTimeNamespace", Edit{"identity/evidence.go",
		"	case id.TimeNS != ns.Value:\n		return different\n",
		"	case id.TimeNS != ns.Value:\n		return equal\n"}),
	verdict("unreadable-time-namespace-is-equal", "time namespaces that are not known count as "+
		"the same.", "identity", "TestPartialFacts", Edit{"identity/evidence.go",
		"	case id.TimeNS == 0 || !ns.Known || ns.Value == 0:\n		return incomparable\n",
		"	case id.TimeNS == 0 || !ns.Known || ns.Value == 0:\n		return equal\n"}),
	verdict("kernel-lock-ignored", "an owner whose process cannot be seen counts as gone while it "+
		"holds the kernel lock.", "identity", "TestFlips", Edit{"identity/judge.go",
		"	case seen.KernelLock == LockHeld:\n		return held(c, seen) // row 2\n", ""}),
	verdict("untested-lock-is-free", "a kernel lock that cannot be tested counts as free.",
		"identity", "TestFlips", Edit{"identity/judge.go",
			"	case lock.counts && seen.KernelLock == LockFree: // row 8",
			"	case lock.counts: // row 8"}),
	verdict("copied-record-counts", "the free lock of a copy of a record counts as the owner's.",
		"identity", "TestFlips", Edit{"identity/evidence.go", "	case same != equal:\n",
			"	case same == incomparable:\n"}),
	verdict("unknown-file-counts", "the free lock of a file that may be another one counts.",
		"identity", "TestFlips", Edit{"identity/evidence.go", "	case same != equal:\n",
			"	case same == different:\n"}),
	verdict("lock-of-shared-filesystem-counts", "a lock that another machine's kernel may hold "+
		"counts as free.", "identity", "TestFlips", Edit{"identity/evidence.go",
		"	case !c.Local || !seen.Filesystem.Local:\n", "	case !seen.Filesystem.Local:\n"}),
	verdict("local-check-dropped", "a process that may be on another machine is looked for on "+
		"this one.", "identity", "TestFlips", Edit{"identity/judge.go",
		"	local := c.Local && seen.Filesystem.Local\n", "	local := true\n"}),
	verdict("incomplete-scan-is-complete", "a torn record is gone although somebody who could not "+
		"be asked may have it open.", "identity", "TestTorn", Edit{"identity/judge.go",
		"	case !seen.Scanned || seen.Openers.Incomplete != nil && len(seen.Openers.Found) == 0:\n",
		"	case !seen.Scanned:\n"}),
	verdict("untrusted-record-counts", "a record that anybody may have written is believed.",
		"identity", "TestUnusable", Edit{"identity/judge.go", "	case seen.Untrusted != \"\":\n",
			"	case false:\n"}),
	verdict("unknown-is-gone", "a lock that cannot be judged is taken over.", "lockfile", "TestHostileContent",
		Edit{"lockfile/acquire.go",
			"		switch s.finding.Verdict {\n		case identity.Free:\n			lock,",
			"		if s.finding.Verdict == identity.Unknown {\n			s.finding.Verdict = identity.Gone\n" +
				"		}\n		switch s.finding.Verdict {\n		case identity.Free:\n			lock,"},
		Edit{"lockfile/takeover.go",
			"	if req.event == EventTakeover && s.finding.Verdict != identity.Gone {\n",
			"	if req.event == EventTakeover && s.finding.Verdict == identity.Alive {\n"}),
	verdict("legacy-absolute-start-only", "a clock step makes a living record-v2 owner gone.",
		"identity", "TestLegacyClockSteps", Edit{"identity/legacy.go",
			"	return absolute > legacyStartTolerance && relative > legacyStartTolerance\n",
			"	_ = relative\n	return absolute > legacyStartTolerance\n"}),
	verdict("legacy-relative-start-only", "a clock step before a record was written makes its "+
		"living record-v2 owner gone.", "identity", "TestLegacyClockSteps", Edit{"identity/legacy.go",
		"	return absolute > legacyStartTolerance && relative > legacyStartTolerance\n",
		"	_ = absolute\n	return relative > legacyStartTolerance\n"}),
	verdict("legacy-other-host", "a record-v2 owner on another machine is looked for on this one.",
		"identity", "TestLegacyFlips", Edit{"identity/legacy.go", "	case c.HostID != seen.HostID:\n",
			"	case false:\n"}),
	verdict("legacy-nested-ignored", "a record-v2 owner in a pid namespace below is not looked for.",
		"identity", "TestLegacyFlips", Edit{"identity/legacy.go",
			"		if f, may := nestedMayBe(c, seen); may {\n",
			"		if f, may := nestedMayBe(c, seen); may && f.Sentence == \"\" {\n"}),
	verdict("legacy-other-boot", "a record-v2 owner of another boot is looked for in this one.",
		"identity", "TestLegacyFlips", Edit{"identity/legacy.go",
			"	if bootDiff.Abs() > legacyBootTolerance {\n",
			"	if bootDiff.Abs() > 1<<62 {\n"}),
	verdict("legacy-anywhere", "a reader in a pid namespace takes a record-v2 number for one of its "+
		"own.", "identity", "TestLegacyFlips", Edit{"identity/legacy.go",
		"	if !initial.Known || !initial.Value {\n", "	if false {\n"}),
}

// verdict is a mutant of a verdict, whom that test of a package must notice.
func verdict(name, why, pkg, test string, edits ...Edit) Mutant {
	return Mutant{Name: name, Why: why, Edits: edits,
		Suite: Suite{Package: pkg, Run: "^" + test + "$"}, Story: "--- FAIL: " + test}
}
