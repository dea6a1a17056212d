package mutants

// schedules are the tests of the explorer on one of its scenarios, up to so many preemptions.
func schedules(scenario, preemptions, runs string) Suite {
	return Suite{Package: "lockfile/internal/explore", Run: "^TestExplore$/^" + scenario + "$",
		Args: []string{"-explore.preemptions=" + preemptions, "-explore.runs=" + runs}}
}

// powerCuts are those of the explorer on one of its histories.
func powerCuts(history string) Suite {
	return Suite{Package: "lockfile/internal/explore", Run: "^TestPowerCuts$/^" + history + "$"}
}

// story is what the explorer tells when an invariant is broken.
func story(invariant string) string {
	return invariant + ` is broken: (?s:.*)\n +1  `
}

// sound is the test that compares the explorer with itself, without what makes it fast.
func sound(which string) Suite {
	return Suite{Package: "lockfile/internal/explore", Run: "^TestNothingIsLost$/^" + which + "$"}
}

// ofExplorer are faults in the explorer itself, that let it leave out what it must not.
var ofExplorer = []Mutant{
	{
		Name: "left-preemptions-ignored",
		Why:  "a state that was met with fewer preemptions left counts as met.",
		Edits: []Edit{{"lockfile/internal/explore/seen.go",
			"case int(slot&leftMask) >= left+1:", "case left >= 0:"}},
		Suite: sound("recover-release-2-1"),
		Story: "an end is only reached plainly",
	},
	{
		Name: "preemptions-never-needed",
		Why:  "a preemption before a step that others could notice is left out.",
		Edits: []Edit{{"lockfile/internal/explore/reach.go",
			"return step.Conflicts(others)", "return false"}},
		Suite: sound("recover-recover-1-1"),
		Story: "an end is only reached plainly",
	},
	{
		Name: "deaths-before-changes-left-out",
		Why:  "one who is killed with others at work has always made his change before.",
		Edits: []Edit{{"lockfile/internal/explore/reach.go",
			"step.Reads |= ownDeath", "step.Reads |= 0"}},
		Suite: sound("dies-unseen-1-1"),
		Story: "an end is only reached plainly",
	},
	{
		Name: "replaced-files-not-touched",
		Why:  "a name that stands for another file now does not count as a change of the first.",
		Edits: []Edit{{"internal/vfs/simfs/touch.go",
			"op.touches(files)", "op.touches(0 * files)"}},
		Suite: Suite{Package: "internal/vfs/simfs", Run: "^TestTouchesTell$"},
		Story: "in the other order",
	},
	{
		Name: "forgets-what-is-open",
		Why:  "who has the lock is taken to go on alike whatever descriptors it has open.",
		Edits: []Edit{{"lockfile/internal/explore/events.go",
			"p.history = simfs.Mix(h, p.files.Descriptors())", "p.history = h"}},
		Suite: schedules("free", "1", "0"),
		Story: "two things follow one history|another state than the walk",
	},
	{
		Name: "deaths-tried-too-seldom",
		Why:  "a death between the steps of others counts as one that makes no difference.",
		Edits: []Edit{{"lockfile/internal/explore/schedule.go",
			"return w.asked || current.asks || current.status != ready",
			"return current.status != ready"}},
		Suite: sound("recover-recover-1-1"),
		Story: "an end is only reached plainly",
	},
	{
		Name: "answer-not-learnt",
		Why:  "what a process does next is not a function of what it counts as having learnt.",
		Edits: []Edit{{"lockfile/internal/explore/proc.go",
			"p.learn(p.w.at, 2, learnt)", "p.learn(p.w.at, 2, 0*learnt)"}},
		Suite: schedules("peer-recovers-owner", "0", "0"),
		Story: "two things follow one history",
	},
	{
		Name: "later-work-never-in-time",
		Why:  "what a lock does later begins only when nobody else can go on.",
		Edits: []Edit{{"lockfile/internal/explore/schedule.go",
			"|| w.everywhere || w.last == nil || w.last == th.proc {", "|| w.everywhere {"}},
		Suite: sound("held-1-0"),
		Story: "an end is only reached plainly",
	},
}

// ofProtocol are faults in the steps of acquire, takeover, commit and release.
var ofProtocol = []Mutant{
	{
		Name: "no-second-counter-read",
		Why: "a takeover that was under way while a record was published counts as not having " +
			"been, and its owner goes on with an overtaken number.",
		Edits: []Edit{{"lockfile/publish.go",
			"if err == nil && same {", "if _ = same; err == nil {"}},
		Suite: schedules("between", "1", "0"),
		Story: story("I[358]"),
	},
	{
		Name: "plain-removal-instead-of-release",
		Why: "an acquirer whose counter has moved removes whatever stands at the lock's name, " +
			"which may be somebody else's record by then.",
		Edits: []Edit{{"lockfile/lock.go",
			`	gate, done, err := (fence.Gate)(nil), func() {}, error(nil)
`, `	if l != nil {
		_ = l.p.dir.Remove(l.p.lockName())
		l.end(true)
		return nil
	}
	gate, done, err := (fence.Gate)(nil), func() {}, error(nil)
`}},
		Suite: schedules("between-breaks", "2", "60000"),
		Story: story("I[1245]"),
	},
	{
		Name: "rename-instead-of-exchange",
		Why: "what stands at the lock's name is replaced unseen: a record-v2 peer that has taken " +
			"the lock in between loses it while it lives.",
		Edits: []Edit{{"lockfile/takeover.go", `	err = p.dir.Exchange(d.temp, lock)
	switch {
	case err == nil:
		return p.afterExchange(d, s)
`, `	err = p.dir.Rename(d.temp, lock)
	switch {
	case err == nil:
		d.temp = ""
		return "", nil
`}},
		Suite: schedules("peer-recovers-holds", "1", "0"),
		Story: story("I[12]"),
	},
	{
		Name: "fence-raised-after-the-exchange",
		Why: "for a moment, and for ever after a crash, a record stands whose number the counter " +
			"does not have: nobody is fenced by it.",
		Edits: []Edit{
			{"lockfile/takeover.go", "	err = gate.Raise(token)\n", "	err = nil\n"},
			{"lockfile/takeover.go", "	saved := p.dispose(old, s)\n",
				"	if err = gate.Raise(token); err != nil {\n		return nil, err\n	}\n" +
					"	saved := p.dispose(old, s)\n"},
		},
		Suite: schedules("recover-recover", "1", "0"),
		Story: story("I3"),
	},
	{
		Name: "no-gate-in-commit",
		Why:  "the check and the write of a commit are two steps: a break fits between them.",
		Edits: []Edit{
			{"lockfile/tenure.go", `	gate, err := t.p.holdGate(ctx, op)
	if err != nil {
		return err
	}
	defer gate.Release()
	if err := t.by.hasEnded(); err != nil { // a release was faster
		return during(op, err)
	}
	if err := t.checkEntered(gate, op); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := t.checkAgain(gate, op); err != nil {
`, `	if err := t.check(op); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := t.check(op); err != nil {
`}},
		Suite: schedules("break-acquire", "1", "0"),
		Story: story("I[1258]"),
	},
	{
		Name: "no-gate-in-release",
		Why: "the check and the removal of a release are two steps: a break and a new owner fit " +
			"between them, whose record is removed.",
		Edits: []Edit{{"lockfile/lock.go", `	gate, done, err := l.p.holdGateSpared(op)
	if err != nil {
		return l.ungated(op, err)
	}
	defer done()
	defer gate.Release()
	err = l.releaseUnder(gate)
	if err == nil || errors.Is(err, ErrLost) {
		l.p.close()
	}
	return err
`, `	err := l.releaseUnder(nil)
	if err == nil || errors.Is(err, ErrLost) {
		l.p.close()
	}
	return err
`}},
		Suite: schedules("break-acquire", "2", "60000"),
		Story: story("I[1258]"),
	},
	{
		Name: "locking-instead-of-testing",
		Why: "who looks at a record takes its kernel lock for a moment, and makes a dead owner " +
			"look alive.",
		Edits: []Edit{
			{"lockfile/look.go", `	f, err := vfs.OpenSeen(p.dir, name)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, vfs.ErrNotRegular)`,
				`	f, err := p.dir.Open(name, vfs.ReadWrite)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, vfs.ErrNotRegular)`},
			{"lockfile/look.go", "	held, err := f.Locked(kind)\n", `	err := f.Lock(kind)
	held := errors.Is(err, vfs.ErrLocked)
	if held {
		err = nil
	}
`}},
		Suite: schedules("dead-try", "1", "0"),
		Story: story("I4"),
	},
	{
		Name: "unlink-before-checking",
		Why: "a release removes the record at the lock's name before it looks whether that is " +
			"its own.",
		Edits: []Edit{{"lockfile/lock.go", `	ours, err := l.stands()
	if err != nil {
		return l.p.failed(op, "look at the record", l.p.lockName(), err)
	}
	switch {
	case ours:
`, `	removed := l.p.dir.Remove(l.p.lockName())
	ours, err := removed == nil, error(nil)
	if err != nil {
		return l.p.failed(op, "look at the record", l.p.lockName(), err)
	}
	switch {
	case ours && removed == nil:
		l.setLeaving(true)
	case ours:
`}},
		Suite: schedules("break-acquire", "1", "0"),
		Story: story("I[1258]"),
	},
	{
		Name: "unlink-before-publishing",
		Why: "a takeover removes what stands at the lock's name without a second look, and " +
			"publishes afterwards: a record-v2 peer that came in between loses its lock.",
		Edits: []Edit{{"lockfile/takeover.go", `	err = p.dir.Exchange(d.temp, lock)
	switch {
	case err == nil:
		return p.afterExchange(d, s)
`, `	err = p.dir.Remove(lock)
	switch {
	case err == nil:
		return "", p.publishFor(d)
`}},
		Suite: schedules("peer-recovers-holds", "1", "0"),
		Story: story("I[12]"),
	},
	{
		Name: "no-second-look",
		Why: "neither the lock nor the bytes nor the verdict are looked at again under the gate: " +
			"a recoverer raises the counter over an owner that has taken the lock over before it.",
		Edits: []Edit{{"lockfile/takeover.go", `	s, err := p.look()
	if err != nil {
		return s, p.failed(req.op, "look at the record", p.lockName(), err)
	}
	if s.flaw.unread()`, `	s := req.judged
	if s.lockID != "" {
		return s, nil
	}
	if s.flaw.unread()`}, {"lockfile/takeover.go",
			`p.failed(req.op, "read the record again", p.lockName(), s.flaw.detail)`, "errMoved"}},
		Suite: schedules("recover-acquire", "2", "20000"),
		Story: story("I[1358]"),
	},
	{
		Name: "content-not-flushed",
		Why:  "a power cut leaves the new name of a state and not its content.",
		Edits: []Edit{{"lockfile/replacement.go",
			"if err := w.file.Sync(); err != nil {", "if err := error(nil); err != nil {"}},
		Suite: powerCuts("tenures"),
		Story: story("power"),
	},
	{
		Name: "directory-not-flushed",
		Why:  "a power cut takes the name of a state back whose writer was told that it is there.",
		Edits: []Edit{{"lockfile/tenure.go",
			"	if err := dir.Sync(); err != nil &&", "	if err := error(nil); err != nil &&"}},
		Suite: powerCuts("tenures"),
		Story: story("power"),
	},
	{
		Name: "counter-and-log-not-flushed",
		Why: "a power cut takes a number back that was handed out, and the next takeover " +
			"repeats it.",
		Edits: []Edit{
			{"fence/gate.go", "	return g.f.Sync()\n", "	return nil\n"},
			{"lockfile/log.go", "		err = f.Sync()\n", ""},
		},
		Suite: powerCuts("takeovers"),
		Story: story("I3"),
	},
}
