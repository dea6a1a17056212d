package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

type runFlags struct {
	commandFlags
	onLost string
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] STATE -- CMD [ARG…]",
		Short: "Hold the lock while a command runs",
		Long: `run takes the lock of STATE, runs CMD with its standard streams untouched, and
releases the lock when CMD ends. The exit code is that of CMD, or 128 and the
number of the signal that it died of; where CMD exits with 0 and the lock cannot be
released, 1. Flags of probate stand before STATE; all that follows STATE (and the
optional --) is CMD's.

Waiting. Without a flag run waits for as long as the owner lives, says on standard
error for whom, once for each owner, and stops at once (12) when the owner cannot
be judged.
With --wait it waits at most that long, also for a lock that cannot be judged.
With --no-wait it does not wait. An owner that is provably gone is taken over.
A signal while it waits ends it (128+n), and CMD is not run.

CMD sees PROBATE_STATE, PROBATE_LOCK, PROBATE_LOCK_ID and PROBATE_FENCE, the
secret PROBATE_LEASE that probate write uses, and PROBATE_HELD, the ids of this
and every lock of the runs above. TERM, INT, HUP, QUIT, USR1 and USR2 are
forwarded to it, INT and QUIT only where the terminal does not send them itself.
A Windows console sends Ctrl-C and Ctrl-Break to CMD itself, and run waits for it.

When CMD itself ends, run releases the lock, whatever CMD left running in the
background. If the wrapper is killed, the lock stays held as long as CMD or
anything that it started lives: they inherited a descriptor that carries it.
--die-with-wrapper kills CMD when the wrapper dies (on Windows all that CMD
started, too).

If the lock is lost meanwhile (a person broke it), CMD gets TERM (on Windows it is
ended at once), and run exits with 13 or 14 after it ended. With --on-lost warn
there is only a message, and 13 or 14 in place of 0.`,
		Example: `  probate run state.json -- ./import.sh --fast
  probate run --wait 30s --label "nightly import" state.json -- ./import.sh
  probate run --no-wait --conflict-code 75 state.json -- ./import.sh
  probate run state.json -- sh -c './edit-db && probate write state.json -- ./export'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{what: "STATE and CMD are missing", verb: "run"}
			}
			if len(commandOf(args)) == 0 {
				return &usageError{
					what: "CMD is missing: probate run " + operand(args[0]) + " -- CMD",
					verb: "run",
				}
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // what follows STATE is not ours
	f.register(fl)
	fl.StringVar(
		&f.onLost,
		"on-lost",
		"term",
		"when the lock is lost: term (tell CMD to end) or warn",
	)
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		switch {
		case checkState("run", args[0]) != nil:
			return checkState("run", args[0])
		case f.onLost != "term" && f.onLost != "warn":
			return &usageError{
				what: fmt.Sprintf("--on-lost %q must be term or warn", f.onLost),
				verb: "run",
			}
		}
		if err := f.check("run", fl); err != nil {
			return err
		}
		return f.coded(a.run(ctx, f, args[0], commandOf(args)))
	})
	return cmd
}

// run takes the lock, runs the command, and releases the lock.
func (a *app) run(ctx context.Context, f runFlags, state string, argv []string) error {
	path, err := lookCommand(argv[0])
	if err != nil {
		return err // before the lock: a typing error should not wait for anybody
	}
	ctx, signals := relaySignals(ctx)
	defer signals.stop()
	lock, err := a.acquire(ctx, state, f.waiting, f.options(a))
	if err != nil {
		return signals.or(err)
	}
	c := a.command(path, argv, ownLock(lock), f.dieWithWrapper)
	c.warn = f.onLost == "warn"
	code, err := a.hold(c, signals)
	lost := context.Cause(lock.Context()) // before the release, which ends it too
	released := lock.Release()
	if err != nil {
		a.also(released)
		return err
	}
	return a.ended(state, f, code, lost, released)
}

// ended makes the exit code of run from how the command and the lock ended.
func (a *app) ended(state string, f runFlags, code int, lost, released error) error {
	if !errors.Is(lost, lockfile.ErrLost) {
		lost = nil
	}
	if lost == nil && errors.Is(released, lockfile.ErrLost) {
		lost = released
	}
	if lost != nil && !a.toldLost {
		a.say("the lock of %s was lost while CMD ran: %v", quote(state), lost)
	}
	switch {
	case lost != nil && f.onLost == "warn" && code != exitOK:
		return exitWith(code)
	case lost != nil:
		return exitWith(explain(lost).Code)
	case released != nil && code != exitOK:
		a.complain(released, explain(released))
		return exitWith(code)
	case released != nil:
		return released
	}
	return exitWith(code)
}
