package mutants

// ofCommands are faults in what probate write does with a command, seen from the prompt.
var ofCommands = []Mutant{
	{
		Name: "failed-command-is-written",
		Why:  "what a producer had written when it failed becomes the state: half of it.",
		Edits: []Edit{{"cmd/probate/internal/cli/write_command.go",
			"	if code != exitOK {\n", "	if false {\n"}},
		Suite: command("TestScript/write-command$"),
		Story: `exit code 0, want 97`,
	},
	{
		Name: "signalled-command-is-written",
		Why:  "who is told to end, and ends well, has its output written all the same.",
		Edits: []Edit{{"cmd/probate/internal/cli/write_command.go",
			"	if cause := context.Cause(o.ctx); cause != nil {\n",
			"	if cause := context.Cause(o.ctx); false {\n		_ = cause\n"}},
		Suite: command("TestSignalledCommandWritesNothing"),
		Story: `the state is "whole`,
	},
	{
		Name: "output-not-awaited",
		Why:  "what a command leaves behind in the background is cut off.",
		Edits: []Edit{{"cmd/probate/internal/cli/write_command.go",
			"	case err := <-o.copied:\n",
			"	default:\n	case err := <-o.copied:\n"}},
		Suite: command("TestScript/write-signals$"),
		Story: `state and early-late differ`,
	},
	{
		Name: "null-device-is-written",
		Why:  "a job without a standard input empties the state.",
		Edits: []Edit{{"cmd/probate/internal/cli/write.go",
			"f != nil && isNullDevice(f)", "f != nil && false && isNullDevice(f)"}},
		Suite: command("TestScript/write-null$"),
		Story: `exit code 0, want 2`,
	},
	{
		Name: "placeholder-is-a-reason",
		Why:  "a break is logged with no word of why.",
		Edits: []Edit{{"internal/nextstep/nextstep.go",
			"unicode.IsLetter(r) || unicode.IsNumber(r)", "!unicode.IsSpace(r)"}},
		Suite: command("TestScript/break$"),
		Story: `exit code 16, want 2|exit code 0, want 2`,
	},
}
