package mutants

// ofOperations are faults that stores of durable operations have had, put into ours.
var ofOperations = []Mutant{
	{
		Name:  "operations-not-flushed",
		Why:   "after a power cut both copies of an operation are there, and empty.",
		Edits: []Edit{{"store/ops/write.go", "return file.Sync()", "return nil"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFlushes$"},
		Story: "flushes, want",
	},
	{
		Name: "operations-folder-not-flushed",
		Why:  "after a power cut the nonce of an accepted receipt can be used again.",
		Edits: []Edit{{"store/ops/write.go", "		if err := w.flush(dir); err != nil {\n" +
			"			return w.failed(\"flush the folder\", dir, id, err)",
			"		if err := w.step(\"\"); err != nil {\n" +
				"			return w.failed(\"flush the folder\", dir, id, err)"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFlushes$"},
		Story: "accept r1 n: . flushes, want",
	},
	{
		Name: "operations-late-write",
		Why:  "a writer that was stopped and overtaken wakes up, and its write loses the other's.",
		Edits: []Edit{{"store/ops/write.go", "err := w.lock.Commit(w.ctx, func() error {",
			"err := func(_ any, fn func() error) error { return fn() }(w.ctx, func() error {"}},
		Suite: Suite{Package: "store/ops", Run: "^TestStoppedWriterIsOvertaken$"},
		Story: "it has changed something",
	},
	{
		Name: "operations-one-file-blocks-all",
		Why:  "one file that cannot be read ends every listing.",
		Edits: []Edit{{"store/ops/list.go", "			if !each(located{}, err) {\n" +
			"				return false\n			}\n			continue",
			"			each(located{}, err)\n			return false"}},
		Suite: Suite{Package: "store/ops", Run: "^Test(BothCopiesTorn|NewerVersion|Foreign)$"},
		Story: "All does not have the sound one|archive: 1",
	},
	{
		Name: "operations-archive-looks-corrupt",
		Why:  "a listing reports a sound store as corrupt while an archiving is under way.",
		Edits: []Edit{{"store/ops/list.go", "		if errors.Is(err, fs.ErrNotExist) {\n" +
			"			continue // it has moved on since\n		}\n", ""}},
		Suite: Suite{Package: "store/ops", Run: "^TestListingFollows$"},
		Story: "no such file",
	},
	{
		Name: "operations-listing-against-the-stream",
		Why:  "an operation that moves while a listing is under way is missed by it.",
		Edits: []Edit{{"store/ops/list.go",
			"return (!slots || v.slots(each)) && v.moved(dir, each)",
			"return v.moved(dir, each) && (!slots || v.slots(each))"}},
		Suite: Suite{Package: "store/ops", Run: "^TestListingFollows$"},
		Story: "begin after",
	},
	{
		Name: "operations-revision-again",
		Why:  "a revision that somebody has seen is given to another version.",
		Edits: []Edit{{"store/ops/rules.go", "op.Restored != \"\" {\n		op.Revision++",
			"op.Restored != \"\" {\n		op.Revision += 0"}},
		Suite: Suite{Package: "store/ops", Run: "^TestNewestTorn$"},
		Story: "was given again",
	},
	{
		Name: "operations-revision-stands",
		Why:  "a change does not let the revision grow, and a lost update is not noticed.",
		Edits: []Edit{{"store/ops/rules.go", "	op = copyOf(op)\n	op.Revision++",
			"	op = copyOf(op)\n	op.Revision += 0"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^swap"},
		Story: "the revision went from",
	},
	{
		Name: "operations-swap-from-any-revision",
		Why:  "who expects an old revision overwrites what is newer.",
		Edits: []Edit{{"store/ops/change.go", "at.op.Revision != *expected",
			"at.op.Revision > *expected+1000"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^swap"},
		Story: "want the operation has changed|have swapped from one revision",
	},
	{
		Name: "operations-names-of-members",
		Why:  "receipts whose nonce is the name of an object's member are never accepted.",
		Edits: []Edit{{"store/ops/receipt.go", "	if spent != nil && (",
			"	if r.Nonce == \"__proto__\" {\n" +
				"		spent = &nonce{}\n	}\n	if spent != nil && ("}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^nonces$"},
		Story: "__proto__",
	},
	{
		Name: "operations-nonce-spent-twice",
		Why:  "a nonce can be used for a second receipt.",
		Edits: []Edit{{"store/ops/receipt.go",
			"spent.Operation != r.Operation || spent.Receipt != who", "spent.Operation == who"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^receipts$"},
		Story: "another receipt for the nonce",
	},
	{
		Name:  "operations-log-tail-counts",
		Why:   "the same receipt with more of its log is taken for another one, and refused.",
		Edits: []Edit{{"store/ops/rules.go", "	r.LogTail = \"\"\n", ""}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^receipts$"},
		Story: "the same receipt with tail",
	},
	{
		Name: "operations-begin-reads-all",
		Why:  "Begin becomes slower with every operation that has finished.",
		Edits: []Edit{{"store/ops/change.go", "	more, err := w.bindRequest(a)\n" +
			"	if err != nil {\n		return Operation{}, false, err\n	}\n	me,",
			"	w.moved(dirFinished, func(located, error) bool { return true })\n" +
				"	more, err := w.bindRequest(a)\n" +
				"	if err != nil {\n		return Operation{}, false, err\n	}\n	me,"}},
		Suite: Suite{Package: "store/ops", Run: "^TestCostDoesNotGrow$"},
		Story: "calls beside 10 finished",
	},
	{
		Name: "operations-no-previous-copy",
		Why:  "an operation whose newest version is torn is lost.",
		Edits: []Edit{{"store/ops/write.go",
			"err = w.move(second, before(s.file), id)", "err = w.root.Remove(second)"}},
		Suite: Suite{Package: "store/ops", Run: "^TestNewestTorn$"},
		Story: "at revision 4",
	},
	{
		Name: "operations-request-after-operation",
		Why:  "a crash leaves an operation that nobody finds by its request.",
		Edits: []Edit{{"store/ops/write.go", "	return w.commit(op.ID, func() error {\n" +
			"		for _, fn := range more {\n			if err := fn(); err != nil {\n" +
			"				return err\n			}\n		}\n		if s.restored",
			"	return w.commit(op.ID, func() error {\n" +
				"		defer func() {\n			for _, fn := range more {\n" +
				"				_ = fn()\n" +
				"			}\n		}()\n		if s.restored"}},
		Suite: Suite{Package: "store/ops", Run: "^TestKilledAtEveryStep$/^first$"},
		Story: "no such operation",
	},
	{
		Name: "operations-unknown-is-gone",
		Why:  "an operation is taken from a process about which nothing could be proven.",
		Edits: []Edit{{"store/ops/owner.go", "	case found.Verdict == identity.Gone:",
			"	case found.Verdict != identity.Alive:"}},
		Suite: Suite{Package: "store/ops", Run: "^TestClaimRule$"},
		Story: "changed true",
	},
	{
		Name: "operations-expiry-proves",
		Why:  "what has expired is sent again.",
		Edits: []Edit{{"store/ops/retry.go", "case !now.Before(c.ExpiresAt):",
			"case now.IsZero():"}},
		Suite: Suite{Package: "store/ops", Run: "^TestRetryCapability$"},
		Story: "expired",
	},
	{
		Name: "operations-archive-beside-running",
		Why:  "operations are put away while one is unfinished.",
		Edits: []Edit{{"store/ops/archive.go", "return busy == nil", "busy = nil\n" +
			"			return true"}},
		Suite: Suite{Package: "store/ops", Run: "^TestFolderConforms$/^archive-refused$"},
		Story: "put . away",
	},
	{
		Name: "operations-later-version-overwritten",
		Why:  "a file of a later version is taken for a torn one, and overwritten.",
		Edits: []Edit{{"store/ops/codec.go", "	case isNewer(data):",
			"	case isNewer(nil):"}},
		Suite: Suite{Package: "store/ops", Run: "^TestNewerVersion$"},
		Story: "succeeded",
	},
	{
		Name:  "operations-follow-up-lost",
		Why:   "a crash between an operation and its follow-up loses the follow-up.",
		Edits: []Edit{{"store/ops/look.go", "	case s.op.Next != nil:", "	case false:"}},
		Suite: Suite{Package: "store/ops", Run: "^TestKilledAtEveryStep$/^follow$"},
		Story: "killed at",
	},
}
