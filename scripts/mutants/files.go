package mutants

// ofFiles are faults in what is done where something is out of the ordinary: a file that cannot be
// read, was swept, put back or copied, a filesystem that lacks something, a process that was
// copied or is overtaken in the middle.
var ofFiles = []Mutant{
	{
		Name: "copy-of-the-holder-commits",
		Why:  "a copy that was restored from a checkpoint writes beside the process that it is of.",
		Edits: []Edit{{"lockfile/lock.go", "same.Known && !same.Value {",
			"same.Known && !same.Value && l.pid < 0 {"}},
		Suite: lockTest("TestOnlyTheHolderUsesTheLock"),
		Story: "it commits|: <nil>",
	},
	{
		Name: "numbers-of-the-log-forgotten",
		Why:  "a fence that is put back under a process makes the next takeover repeat a number.",
		Edits: []Edit{{"lockfile/takeover.go", "token := max(current, logged, s.fence())",
			"token := max(current, logged*0, s.fence())"}},
		Suite: lockTest("TestFencePutBackUnderAProcess"),
		Story: "the counter is at 2",
	},
	{
		Name: "what-cannot-be-opened-is-swept",
		Why:  "the temporary of a living writer is removed because it cannot be opened for once.",
		Edits: []Edit{{"lockfile/sweep.go", "	f, err := p.dir.Open(name, vfs.Read)\n" +
			"	if err != nil {\n		return false\n	}\n	defer f.Close()\n	held",
			"	f, err := p.dir.Open(name, vfs.Read)\n" +
				"	if err != nil {\n		return true\n	}\n	defer f.Close()\n	held"}},
		Suite: lockTest("TestUnreadableTemporaryStays"),
		Story: "it was swept",
	},
	{
		Name: "what-cannot-be-read-is-lost",
		Why: "a command under a lock is told that the lock is lost, for good, as the record " +
			"cannot be read for once.",
		Edits: []Edit{{"lockfile/inherit.go", "	if s.flaw.unread() {",
			"	if s.flaw.unread() && s.record != nil {"}},
		Suite: lockTest("TestInheritedCannotReadTheRecord"),
		Story: "lock lost",
	},
	{
		Name: "written-again-and-not-flushed",
		Why:  "a state whose temporary was swept meanwhile is empty after a power cut.",
		Edits: []Edit{{"lockfile/replacement.go",
			"	_, err = w.fill(io.NewSectionReader(lost, 0, old.Size))\n",
			"	_, err = io.Copy(io.NewOffsetWriter(w.file, 0),\n" +
				"		io.NewSectionReader(lost, 0, old.Size))\n"}},
		Suite: lockTest("TestSweptTemporaryIsWrittenAgain"),
		Story: `not "flush`,
	},
	{
		Name: "kept-copy-not-flushed",
		Why:  "the copy that is kept of a state is empty after a power cut.",
		Edits: []Edit{{"lockfile/keep.go",
			"	_, err = copied.fill(io.NewSectionReader(from, 0, old.Size))\n",
			"	_, err = io.Copy(io.NewOffsetWriter(copied.file, 0),\n" +
				"		io.NewSectionReader(from, 0, old.Size))\n"}},
		Suite: lockTest("TestKeptCopyIsFlushed"),
		Story: `not "flush`,
	},
	{
		Name: "record-in-place-names-another-file",
		Why:  "on a poor filesystem no record's kernel lock ever counts as its owner's.",
		Edits: []Edit{{"lockfile/draft.go", "	if d.info, err = f.Stat(); err != nil {\n" +
			"		return undo(err)\n	}\n	if err = d.encode(); err != nil {\n" +
			"		return undo(err)\n	}\n	if _, err = f.WriteAt",
			"	if err = d.encode(); err != nil {\n		return undo(err)\n	}\n" +
				"	if d.info, err = f.Stat(); err != nil {\n		return undo(err)\n	}\n" +
				"	if _, err = f.WriteAt"}},
		Suite: lockTest("TestRecordMadeInPlace"),
		Story: "the record names inode",
	},
	{
		Name: "given-back-over-somebody",
		Why: "a record that was taken by mistake is given back over that of a peer which has " +
			"taken the lock meanwhile.",
		Edits: []Edit{{"lockfile/takeover.go",
			"if err := p.moveNoReplace(from, to); err != nil {",
			"if err := p.dir.Rename(from, to); err != nil {"}},
		Suite: lockTest("TestPeersBetweenTheStepsOfATakeover"),
		Story: "1 of 2 records are left",
	},
	{
		Name: "no-look-at-what-comes-back",
		Why:  "what comes back from an undone exchange is removed, whosever it is.",
		Edits: []Edit{{"lockfile/takeover.go",
			"	if err == nil && info.SameFile(d.info) {\n		// the draft",
			"	if err == nil && info.Inode != 0 {\n		// the draft"}},
		Suite: lockTest("TestPeersBetweenTheStepsOfATakeover"),
		Story: "1 of 2 records are left",
	},
	{
		Name: "folder-that-cannot-be-read-is-empty",
		Why:  "a listing that says that there is nothing, of a folder that could not be read.",
		Edits: []Edit{{"lockfile/listing.go", "	if err == io.EOF {\n		err = nil\n",
			"	if err != io.ErrNoProgress {\n		err = nil\n"}},
		Suite: lockTest("TestListCannotReadTheFolder"),
		Story: `it says "end"`,
	},
	{
		Name: "children-inherit-the-record",
		Why:  "any child of a holder keeps its lock, as long as it lives, without knowing.",
		Edits: []Edit{{"internal/vfs/os_unix.go",
			"unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC",
			"unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW"}},
		Suite: Suite{Package: "internal/vfs", Run: "^TestDescriptorsEndAtExec$"},
		Story: "created: children inherit",
	},
	{
		Name: "another-folder-at-the-place",
		Why:  "an idle holder whose folder was moved writes into the one that stands there now.",
		Edits: []Edit{{"internal/vfs/park_linux.go",
			"if uint64(st.Dev) != id.device || uint64(st.Ino) != id.inode {",
			"if id.inode == 0 {"}},
		Suite: Suite{Package: "internal/vfs", Run: "^TestParkedDirectory$"},
		Story: "another directory|in another directory",
	},
	{
		Name: "fork-believes-its-parent",
		Why:  "a fork says its parent's start and namespaces for its own.",
		Edits: []Edit{{"probe/standing_linux.go", "if o.device != 0 && o.page[0] != 0 {",
			"if o.device != 0 {"}},
		Suite: Suite{Package: "probe", Run: "^TestForkBeginsAnew$"},
		Story: "a fork says",
	},
	{
		Name: "filesystems-of-one-type-are-one",
		Why:  "a record is looked for, and its kernel lock believed, on another filesystem.",
		Edits: []Edit{{"probe/fs_linux.go", "last.magic == kind && last.id == id {",
			"last.magic == kind {"}},
		Suite: Suite{Package: "probe", Run: "^TestFilesystemsOfOneType$"},
		Story: "--- FAIL: TestFilesystemsOfOneType",
	},
	{
		Name: "proc-of-others-is-believed",
		Why:  "who has mounted another /proc since is told of processes that are not its own.",
		Edits: []Edit{{"probe/sight_linux.go", "err != nil || mount != *at.proc {",
			"err != nil || mount.major == 1<<31 {"}},
		Suite: Suite{Package: "probe", Run: "^TestProcOfInnerNamespace$"},
		Story: "--- FAIL: TestProcOfInnerNamespace",
	},
	{
		Name: "deletion-before-its-version",
		Why:  "a crash in a deletion makes the versions of a document begin anew.",
		Edits: []Edit{{"store/docs/folder_write.go",
			"		err := lock.WriteFile(f.deleted(key), encodeDeleted(min(expected+1, " +
				"MaxVersion)),\n			f.opts.Mode)\n		if err == nil {\n" +
				"			err = lock.Commit(ctx, func() error { " +
				"return os.Remove(lock.State()) })\n",
			"		err := lock.Commit(ctx, func() error { return os.Remove(lock.State()) })\n" +
				"		if err == nil {\n			err = lock.WriteFile(f.deleted(key),\n" +
				"				encodeDeleted(min(expected+1, MaxVersion)), f.opts.Mode)\n"}},
		Suite: Suite{Package: "store/docs", Run: "^TestFolderKilledDeletions$"},
		Story: "created again as version 1",
	},
	{
		Name: "overtaken-deletion",
		Why:  "who is overtaken in the middle of a deletion removes what the next one has written.",
		Edits: []Edit{{"store/docs/folder_write.go",
			"			err = lock.Commit(ctx, func() error { return os.Remove(lock.State()) })",
			"			err = os.Remove(lock.State())"}},
		Suite: Suite{Package: "store/docs", Run: "^TestFolderOvertakenDeletion$"},
		Story: `said "ok" instead of "fenced"`,
	},
	{
		Name: "state-written-wherever-its-path-leads",
		Why:  "who holds the lock of one directory writes the state of another, beside its holder.",
		Edits: []Edit{{"lockfile/replacement.go",
			"case ours && (!same || p.base != t.p.base):",
			"case ours && same && p.base != t.p.base:"}},
		Suite: Suite{Package: "lockfile", Run: "^TestWriteToWhereThePathLeadsNow$"},
		Story: `the other state is "late"`,
	},
	{
		Name: "value-read-wherever-its-path-leads",
		Why:  "the value of one file is put into another when a link is switched.",
		Edits: []Edit{{"store/statefile/update.go", "wholefile.Read(lock.State(), f.opts.max())\n" +
			"	if errors.Is(err, fs.ErrNotExist) {\n		return value",
			"wholefile.Read(f.path, f.opts.max())\n" +
				"	if errors.Is(err, fs.ErrNotExist) {\n		return value"}},
		Suite: Suite{Package: "store/statefile", Run: "^TestLinkSwitchedWhileWaiting$"},
		Story: "newest version is {N:112",
	},
	{
		Name: "folder-changed-under-the-lock-of-another",
		Why:  "operations are changed in a folder that was opened, under the lock of another one.",
		Edits: []Edit{{"store/ops/folder.go", "err == nil && !os.SameFile(opened, locked)",
			"err == nil && opened == nil && locked == nil"}},
		Suite: Suite{Package: "store/ops", Run: "^TestLinkSwitched$"},
		Story: "was changed without its lock",
	},
}

func lockTest(name string) Suite { return Suite{Package: "lockfile", Run: "^" + name + "$"} }
