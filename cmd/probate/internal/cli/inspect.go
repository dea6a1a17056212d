package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

func (a *app) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect [--json] STATE…",
		Short: "Who holds a lock, and is that process still there? Changes nothing",
		Long: `inspect looks at the lock of every STATE and changes nothing: verdict, reason,
owner, evidence, fence, and the one next step.

The verdict is free, alive, gone (proven, the next acquire takes it over) or
unknown (a person must decide). It exits with 0 for free, 10 for alive, 11 for
gone, 12 for unknown; with several states 1 (could not look) wins, then the
highest.

With --json every state is one object with at least state, lock, verdict,
reason, sentence, evidence, owner, lockID, format, fence, next, bytes and
modifiedAt; times are UTC. A state that could not be looked at is an object with
state, error, kind and code.`,
		Example: `  probate inspect state.json
  probate inspect --json *.db | jq -r 'select(.verdict == "gone") | .state'`,
		Args: operands("STATE…"),
	}
	cmd.RunE = a.verb(func(_ context.Context, states []string) error {
		for _, state := range states {
			if err := checkState("inspect", state); err != nil {
				return err
			}
		}
		code := exitOK
		for i, state := range states {
			if i > 0 && !a.json {
				fmt.Fprintln(a.out)
			}
			code = worse(code, a.inspect(state))
		}
		return exitWith(code)
	})
	return cmd
}

func (a *app) inspect(state string) int {
	in, err := lockfile.Inspect(state, a.options())
	switch {
	case err != nil && a.json:
		a.failedState(state, err)
		return exitFailure
	case err != nil:
		a.complain(err, explain(err))
		return exitFailure
	case a.json:
		writeJSON(a.out, in)
	default:
		a.describe(a.out, in, view{state: state})
	}
	if of, ok := strings.CutSuffix(state, ".lock"); ok && of != "" && in.Verdict == identity.Free {
		if _, err := os.Lstat(state); err == nil {
			a.say(
				"%s is a lock itself; to look at it: probate inspect %s",
				quote(state),
				operand(of),
			)
		}
	}
	return verdictCode(in.Verdict)
}

// failedState puts an error in the place of a state's result.
func (a *app) failedState(state string, err error) {
	f := explain(err)
	f.State = state
	writeJSON(a.out, f)
}

func verdictCode(v identity.Verdict) int {
	switch v {
	case identity.Free:
		return exitOK
	case identity.Alive:
		return exitHeld
	case identity.Gone:
		return exitGone
	default:
		return exitUnknown
	}
}

func (a *app) lsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls [--json] [DIR]",
		Short: "Every lock below a directory with its verdict",
		Long: `ls walks the directory tree below DIR (default: the current one), and shows every
lock with its verdict. It changes nothing. It exits with 0 when everything could
be looked at, whatever the verdicts, else with 1.

With --json every lock is one object as inspect prints it.`,
		Example: `  probate ls /var/lib/app
  probate ls --json | jq -r 'select(.verdict == "unknown") | .state'`,
		Args: operands("[DIR]"),
	}
	cmd.RunE = a.verb(func(_ context.Context, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if dir == "" {
			return &usageError{what: "DIR is empty", verb: "ls"}
		}
		return a.list(dir)
	})
	return cmd
}

func (a *app) list(dir string) error {
	code := exitOK
	rows := [][]string{{"STATE", "VERDICT", "REASON", "OWNER", "SINCE"}}
	var verdicts []identity.Verdict
	for in, err := range lockfile.List(dir, a.options()) {
		switch {
		case err != nil && a.json:
			code = exitFailure
			a.failedState(in.State, err)
		case err != nil:
			code = exitFailure
			a.complain(err, explain(err))
		case a.json:
			writeJSON(a.out, in)
		default:
			since := ""
			if in.Owner != nil && !in.Owner.Since.IsZero() {
				since = in.Owner.Since.Local().Format("2006-01-02 15:04:05")
			}
			rows = append(
				rows,
				[]string{relativeTo(dir, in.State), in.Verdict.String(), string(in.Reason),
					brief(in.Owner), since},
			)
			verdicts = append(verdicts, in.Verdict)
		}
	}
	switch {
	case a.json:
	case len(rows) > 1:
		table(a.out, rows, func(row, col int, cell string) string {
			if row == 0 || col != 1 {
				return cell
			}
			return a.colour(a.out, verdicts[row-1], cell)
		})
	case code == exitOK:
		a.say("no locks below %s", quote(dir))
	}
	return exitWith(code)
}

// relativeTo shows a path in the terms in which the directory was named.
func relativeTo(dir, path string) string {
	root, err := realDir(dir)
	if err != nil {
		return path
	}
	rest, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rest) {
		return path
	}
	if dir == "." {
		return rest
	}
	return strings.TrimRight(dir, string(os.PathSeparator)) + string(os.PathSeparator) + rest
}
