package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/spf13/cobra"
)

// app is one call of the program.
type app struct {
	in       io.Reader
	stdout   io.Writer // as it was given, for CMD
	out      *results  // the same, for what is printed
	err      io.Writer
	json     bool
	began    bool // a verb has begun: what fails from here on is not the command line
	toldLost bool // that the lock of run was lost has been said
}

// Run is the program: it does what args say and returns the exit code.
func Run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, stdout: out, out: &results{w: out}, err: err}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(a.out)
	root.SetErr(err)
	failed := root.ExecuteContext(ctx)
	if failed != nil && !a.began {
		if _, typed := errors.AsType[*usageError](failed); !typed {
			failed = &usageError{what: failed.Error()}
		}
		a.json = a.json || slices.Contains(beforeDashes(args), "--json")
	}
	return a.finish(failed)
}

func beforeDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

const rootLong = `probate gives a file one writer at a time, says who that writer is, and hands the
lock on only when its owner is provably gone.

A lock belongs to a state path STATE. Its record is STATE.lock, beside it; the
fence counter is STATE.fence, the log of takeovers STATE.recovery.log. A takeover
leaves a small STATE.recovered-…, which a later one removes. STATE itself need not
exist.

Results go to standard output, talk to standard error. With --json results are
JSON objects, one a line, and so are errors, on standard error:
  {"error": …, "kind": …, "code": …, "path": …, "step": …, "next": …,
   "verdict": …, "reason": …, "inspection": {…}}
Fields that say nothing are left out. kind is permission, read-only, no-space,
name-too-long, unsupported, not-found, gate-busy or io for failures, and usage,
busy, lost, fenced, unsure, changed, command or signal for the other answers.
Where one of several states fails (inspect, ls), the error takes the place of
that state's result instead, on standard output.

Colour marks the verdict, on a terminal, unless NO_COLOR is set.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "probate",
		Short:         "One writer at a time, and who it is",
		Long:          rootLong,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{what: fmt.Sprintf("there is no verb %q%s", args[0],
					insteadOf(args[0]))}
			}
			return &usageError{what: "no verb was given"}
		},
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON, one object a line")
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{
		Use: "help [VERB]", Short: "Help about a verb",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return &usageError{
					what: fmt.Sprintf("there is no help for %q", strings.Join(args, " "))}
			}
			return found.Help()
		},
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{what: err.Error(), verb: cmd.Name()}
	})
	root.AddCommand(
		a.runCommand(),
		a.writeCommand(),
		a.inspectCommand(),
		a.recoverCommand(),
		a.breakCommand(),
		a.logCommand(),
		a.lsCommand(),
		a.probeCommand(),
		a.selftestCommand(),
		a.selftestChildCommand(),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: operands(),
			RunE: a.verb(func(_ context.Context, _ []string) error {
				if a.json {
					return writeJSON(a.out, struct {
						Version string `json:"version"`
					}{strings.TrimPrefix(version(), "probate ")})
				}
				_, err := fmt.Fprintln(a.out, version())
				return err
			}),
		},
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText()},
	)
	return root
}

// verb wraps what a verb does.
func (a *app) verb(
	do func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return do(cmd.Context(), args)
	}
}

// operands refuses any other number of arguments than the named ones; the last one may be repeated
// where its name ends in "…", and left out in brackets.
func operands(names ...string) cobra.PositionalArgs {
	least, most := 0, len(names)
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
		if strings.HasSuffix(n, "…") {
			most = -1
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return &usageError{what: names[len(args)] + " is missing", verb: cmd.Name()}
		case most >= 0 && len(args) > most:
			return &usageError{what: fmt.Sprintf("%q is one argument too many", args[most]),
				verb: cmd.Name()}
		}
		return nil
	}
}

// checkState refuses operands that cannot be a state path.
func checkState(verb, state string) error {
	separators := "/"
	if runtime.GOOS == "windows" {
		separators = `/\`
	}
	end := state[strings.LastIndexAny(state, separators)+1:]
	switch {
	case state == "":
		return &usageError{what: "STATE is empty", verb: verb}
	case end == "" || end == "." || end == "..":
		return &usageError{
			what: "STATE " + quote(state) + " names a directory; it must end in a name",
			verb: verb,
		}
	}
	return nil
}

// say talks to people on standard error, one line.
func (a *app) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.json {
		writeJSON(a.err, struct {
			Message string `json:"message"`
		}{text})
		return
	}
	fmt.Fprintf(a.err, "probate: %s\n", escape(text))
}

// colour marks the verdict, on a terminal only.
func (a *app) colour(w io.Writer, v identity.Verdict, text string) string {
	if !coloured(w) {
		return text
	}
	return inColour(v, text)
}

// coloured reports whether what goes to w may be coloured.
func coloured(w io.Writer) bool {
	if r, results := w.(*results); results {
		w = r.w
	}
	return os.Getenv("NO_COLOR") == "" && runtime.GOOS != "windows" && isTerminal(w)
}

// isTerminal reports whether somebody sees at once what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

func inColour(v identity.Verdict, text string) string {
	code := map[identity.Verdict]string{
		identity.Free: "32", identity.Gone: "32", identity.Alive: "33", identity.Unknown: "31",
	}[v]
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// insteadOf leads from the words of other lock programs to what does it here.
func insteadOf(verb string) string {
	switch verb {
	case "acquire", "lock", "hold", "take", "exec", "with":
		return ": a lock is held for as long as a command runs, probate run STATE -- CMD"
	case "release", "unlock", "free", "rm", "remove", "delete", "clear":
		return ": a lock is released when its command ends; probate recover STATE takes it from" +
			" an owner that is gone, probate break STATE from one that cannot be judged"
	case "update", "edit", "modify", "replace", "save", "put", "sponge":
		return ": probate write STATE -- CMD makes what CMD prints the content of STATE"
	case "status", "show", "who", "check", "test":
		return ": probate inspect STATE says who holds it"
	case "list", "find":
		return ": probate ls FOLDER lists locks"
	}
	return ""
}

// release is the version of a released binary, set by scripts/release.sh when it links it.
var release string

func version() string {
	if release != "" {
		return "probate " + release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "probate (unknown version)"
	}
	return "probate " + info.Main.Version
}
