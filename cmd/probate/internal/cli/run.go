package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

type runFlags struct {
	waiting
	label          string
	conflictCode   conflictCode // 0: none was given
	dieWithWrapper bool
	onLost         string
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
  probate run n.json -- sh -c 'jq .n+=1 n.json >new && probate write n.json <new'`,
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
		&f.label,
		"label",
		"",
		"text for people who look at the lock, at most 200 characters",
	)
	fl.Var(&f.conflictCode, "conflict-code", "exit with this code (1 to 255) in place of 10 and 12")
	fl.BoolVar(&f.dieWithWrapper, "die-with-wrapper", false, "kill CMD when this process dies")
	fl.StringVar(
		&f.onLost,
		"on-lost",
		"term",
		"when the lock is lost: term (tell CMD to end) or warn",
	)
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		if err := f.check("run", fl.Changed("wait")); err != nil {
			return err
		}
		switch {
		case checkState("run", args[0]) != nil:
			return checkState("run", args[0])
		case f.onLost != "term" && f.onLost != "warn":
			return &usageError{
				what: fmt.Sprintf("--on-lost %q must be term or warn", f.onLost),
				verb: "run",
			}
		case f.dieWithWrapper && !canDieWithWrapper:
			return &usageError{
				what: "--die-with-wrapper is not available on this system",
				verb: "run",
			}
		}
		if err := checkLabel(f.label); err != nil {
			return err
		}
		err := a.run(ctx, f, args[0], commandOf(args))
		if r, ok := errors.AsType[*refusal](err); ok && f.conflictCode != 0 &&
			(r.code == exitHeld || r.code == exitUnknown) {
			return &codeError{code: int(f.conflictCode), err: err}
		}
		return err
	})
	return cmd
}

// conflictCode reads a code that a process can exit with, other than that for success.
type conflictCode int

func (c *conflictCode) String() string { return "" }
func (c *conflictCode) Type() string   { return "N" }
func (c *conflictCode) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || n == 0 {
		return errors.New("it must be 1 to 255")
	}
	*c = conflictCode(n)
	return nil
}

// commandOf is what follows STATE, without the dashes that may stand between.
func commandOf(args []string) []string {
	args = args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return args
}

func checkLabel(label string) error {
	bad := func(what string) error { return &usageError{what: "--label " + what, verb: "run"} }
	switch n := utf8.RuneCountInString(label); {
	case n > 200:
		return bad(fmt.Sprintf("has %d characters, at most 200 are allowed", n))
	case !utf8.ValidString(label):
		return bad("is not valid UTF-8")
	}
	for _, r := range label {
		if unicode.IsControl(r) {
			return bad(fmt.Sprintf("has the control character %q", r))
		}
	}
	return nil
}

// run takes the lock, runs the command, and releases the lock.
func (a *app) run(ctx context.Context, f runFlags, state string, argv []string) error {
	path, err := lookCommand(argv[0])
	if err != nil {
		return err // before the lock: a typing error should not wait for anybody
	}
	ctx, signals := relaySignals(ctx)
	defer signals.stop()
	opts := a.options()
	opts.Label = f.label
	lock, err := a.acquire(ctx, state, f.waiting, opts)
	if err != nil {
		return signals.or(err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0], cmd.Err = argv[0], nil
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.stdout, a.err
	cmd.WaitDelay = 100 * time.Millisecond // only for streams that are not files: see Cmd.Wait
	cmd.Env = append(os.Environ(), lock.Environ()...)
	cmd.Env = append(cmd.Env, heldEnv+"="+withHeld(lock.ID()))

	code, err := a.hold(lock, cmd, f, signals)
	lost := context.Cause(lock.Context()) // before the release, which ends it too
	released := lock.Release()
	if err != nil {
		a.also(released)
		return err
	}
	return a.ended(state, f, code, lost, released)
}

// hold runs the command under the lock and returns its exit code. An error says that it did not
// run.
func (a *app) hold(lock *lockfile.Lock, cmd *exec.Cmd, f runFlags, signals *relay) (int, error) {
	code := exitOK
	err := pinned(f.dieWithWrapper, cmd, func() error {
		if err := signals.start(cmd, lock.Handle()); err != nil {
			return err
		}
		ended, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-ended:
			case <-lock.Context().Done():
				a.tellLost(lock, cmd, f)
			}
		}()
		err := cmd.Wait()
		close(ended)
		<-watched
		if cmd.ProcessState == nil {
			return fmt.Errorf("wait for %s: %w", quote(cmd.Args[0]), err)
		}
		code = codeOfState(cmd.ProcessState)
		return nil
	})
	return code, err
}

// tellLost tells people, and the command, that the lock is lost while the command runs.
func (a *app) tellLost(lock *lockfile.Lock, cmd *exec.Cmd, f runFlags) {
	cause := context.Cause(lock.Context())
	if !errors.Is(cause, lockfile.ErrLost) {
		return
	}
	a.toldLost = true
	if f.onLost == "warn" {
		a.say(
			"the lock of %s is lost while CMD runs, "+
				"and its writes with probate write are refused: %v",
			quote(lock.State()),
			cause,
		)
		return
	}
	a.say("the lock of %s is lost, telling CMD (process %d) to end: %v", quote(lock.State()),
		cmd.Process.Pid, cause)
	terminate(cmd.Process)
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

// lookCommand finds CMD as a shell would. Errors carry 127 for not found, 126 for not executable.
func lookCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil // PATH says so: the user's own word
	case errors.Is(err, syscall.EISDIR) || isDirectory(name):
		return "", &codeError{
			exitCannotRun,
			"command",
			fmt.Errorf("%s is a directory", quote(name)),
		}
	case errors.Is(err, os.ErrPermission) || onPath(name):
		return "", &codeError{exitCannotRun, "command",
			fmt.Errorf("%s is not executable (%s)", quote(name), shell.Here.NotExecutable())}
	}
	return "", &codeError{exitNotFound, "command",
		fmt.Errorf("%s was not found (%s)", quote(name), shell.Here.Which(name))}
}

// isDirectory reports whether name is the path of a directory, and not only a word.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return filepath.Base(name) != name && err == nil && info.IsDir()
}

// cannotRun is the error for a command that was found and could not be started.
func cannotRun(cmd *exec.Cmd, err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	hint := ""
	if isFormatError(err) {
		hint = ": " + shell.Here.NotAProgram()
	}
	return &codeError{exitCannotRun, "command",
		fmt.Errorf("%s cannot be run: %w%s", quote(cmd.Path), err, hint)}
}
