package mutants

// takesFromTheLiving makes every held lock one that is taken over.
var takesFromTheLiving = []Edit{
	{"lockfile/acquire.go",
		`		switch s.finding.Verdict {
		case identity.Free:`,
		`		if s.finding.Verdict == identity.Alive {
			s.finding.Verdict = identity.Gone
		}
		switch s.finding.Verdict {
		case identity.Free:`},
	{"lockfile/takeover.go",
		"	if req.event == EventTakeover && s.finding.Verdict != identity.Gone {\n",
		"	if req.event == EventTakeover && s.finding.Verdict == identity.Unknown {\n"},
}

// ofProcesses are faults that the walks over crashes and failing operations and the soak must
// notice: with real processes, from outside.
var ofProcesses = []Mutant{
	{
		Name:  "living-owners-overtaken",
		Why:   "two processes are in the critical section at once.",
		Edits: takesFromTheLiving,
		Suite: soak("-soak=3s", "-soak.faults=0"),
		Story: `overlaps +[1-9]`,
	},
	{
		Name: "overtaken-owners-commit",
		Why:  "who was overtaken writes over what the next one wrote.",
		Edits: append([]Edit{{"lockfile/tenure.go",
			`	if now != t.token {
		err := t.fenced(op, now)`,
			`	if true {
		return nil
	}
	if now != t.token {
		err := t.fenced(op, now)`}},
			takesFromTheLiving...),
		Suite: soak("-soak=3s", "-soak.faults=0"),
		Story: `(?s)lost +[1-9].*history +NOT linearizable`,
	},
	{
		Name: "record-stays-after-break",
		Why: "a break that cannot remove its own record at once leaves it, and it reads as alive " +
			"for as long as its process lives.",
		Edits: []Edit{{"lockfile/lock.go",
			`	if err != nil && !errors.Is(err, ErrLost) {
		l.withdrawLater()
	}
	return err`,
			`	return err`}},
		Suite: command("TestOperationsFail/break,_owner_alive", "-sample=1"),
		Story: `nobody was given the lock, and yet`,
	},
	{
		Name: "unread-record-is-another",
		Why: "a record that cannot be read for once is reported as one that changed, and the " +
			"cause is swallowed.",
		Edits: []Edit{{"lockfile/break.go",
			"	case s.lockID != req.LockID && s.flaw.unread():\n", "	case false:\n"}},
		Suite: command("TestOperationsFail/break,_owner_dead", "-sample=1"),
		Story: `not a word of`,
	},
	{
		Name: "state-in-two-steps",
		Why:  "the old state is removed before the new one has its name: a crash loses both.",
		Edits: []Edit{{"lockfile/replacement.go",
			"	err := w.dir.Rename(w.temp, w.p.base)\n	if errors.Is(err, fs.ErrNotExist) {\n",
			"	_ = w.dir.Remove(w.p.base)\n	err := w.dir.Rename(w.temp, w.p.base)\n" +
				"	if errors.Is(err, fs.ErrNotExist) {\n"}},
		Suite: command("TestKilledAtEveryOperation/write,_owner_dead", "-every"),
		Story: `the state is "", it was "old`,
	},
	{
		Name: "record-before-its-content",
		Why:  "a record has its name before it is whole, and a crash leaves it torn.",
		Edits: []Edit{{"lockfile/draft.go",
			"	if !named {\n", "	if false {\n"}, {"lockfile/draft.go",
			"	err := dir.RenameNoReplace(d.temp, name)\n", "	err := d.publishInPlace()\n"}},
		Suite: command("TestKilledAtEveryOperation/run,_free", "-every"),
		Story: `the record is `,
	},
	{
		Name: "log-after-the-fence",
		Why:  "a number is in use that is in no log: a fence that gets lost begins below it.",
		Edits: []Edit{{"lockfile/takeover.go",
			"	err = gate.Raise(token)\n", "	err = nil\n"}, {"lockfile/takeover.go",
			"	reason := req.reason\n", "	if err := gate.Raise(token); err != nil {\n" +
				"		return nil, err\n	}\n	reason := req.reason\n"}},
		Suite: command("TestKilledAtEveryOperation/recover,_owner_dead", "-every"),
		Story: `the counter is at`,
	},
}

func soak(args ...string) Suite {
	return Suite{Package: "scripts/soak", Run: "^TestSoak$", Args: args}
}

func command(run string, args ...string) Suite {
	return Suite{Package: "cmd/probate/internal/cli", Run: run, Args: args}
}
