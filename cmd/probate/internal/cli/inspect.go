package cli

import (
	"context"
	"fmt"
	"os"
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
modifiedAt; times are UTC, and a fence number that could not be read is null. A
state that could not be looked at is an object with state, error, kind and code.`,
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
