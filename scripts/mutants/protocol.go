package mutants

// ofProtocol are faults in the steps of acquire, takeover, commit and release.
var ofProtocol = []Mutant{
	{
		Name: "no-second-counter-read",
		Why: "a takeover that was under way while a record was published counts as not having " +
			"been, and its owner goes on with an overtaken number.",
		Edits: []Edit{{"lockfile/publish.go",
			"if err == nil && same {", "if _ = same; err == nil {"}},
		Suite: Suite{Package: "lockfile", Run: "^TestCounterMovesMeanwhile$"},
		Story: "--- FAIL",
	},
}
