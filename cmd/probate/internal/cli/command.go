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
	"github.com/spf13/pflag"
)

// commandFlags are those of the verbs that run a command.
type commandFlags struct {
	waiting
	label          string
	conflictCode   conflictCode // 0: none was given
	dieWithWrapper bool
}

func (f *commandFlags) register(fl *pflag.FlagSet) {
	f.waiting.register(fl)
	fl.StringVar(
		&f.label,
		"label",
		"",
		"text for people who look at the lock, at most 200 characters",
	)
	fl.Var(&f.conflictCode, "conflict-code", "exit with this code (1 to 255) in place of 10 and 12")
	fl.BoolVar(&f.dieWithWrapper, "die-with-wrapper", false, "kill CMD when this process dies")
}

func (f *commandFlags) check(verb string, fl *pflag.FlagSet) error {
	if err := f.waiting.check(verb, fl.Changed("wait")); err != nil {
		return err
	}
	if f.dieWithWrapper && !canDieWithWrapper {
		return &usageError{
			what: "--die-with-wrapper is not available on this system",
			verb: verb,
		}
	}
	return checkLabel(verb, f.label)
}

// options are those of the lock.
func (f *commandFlags) options(a *app) lockfile.Options {
	opts := a.options()
	opts.Label = f.label
	return opts
}

// coded gives the error of a lock that is busy the code that was asked for.
func (f *commandFlags) coded(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok && f.conflictCode != 0 &&
		(r.code == exitHeld || r.code == exitUnknown) {
		return &codeError{code: int(f.conflictCode), err: err}
	}
	return err
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

func checkLabel(verb, label string) error {
	bad := func(what string) error { return &usageError{what: "--label " + what, verb: verb} }
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

// holding is the lock that a command runs under.
type holding struct {
	state   string
	environ []string // what the command is told, besides what this process was

	// lost begins to watch the lock, and returns a context that ends with a cause that matches
	// ErrLost when the lock is lost.
	lost func() context.Context
	// inherit hands on what carries the kernel lock.
	inherit func(*exec.Cmd) (giveBack func(), err error)
}

// ownLock is the lock that this process took.
func ownLock(lock *lockfile.Lock) holding {
	return holding{
		state: lock.State(), lost: lock.Context,
		environ: append(lock.Environ(), heldEnv+"="+withHeld(lock.ID())),
		inherit: func(cmd *exec.Cmd) (func(), error) { return inherit(cmd, lock.Handle()) },
	}
}

// isLost returns how the lock was lost, nil while it is held.
func (h *holding) isLost() error {
	if cause := context.Cause(h.lost()); errors.Is(cause, lockfile.ErrLost) {
		return cause
	}
	return nil
}

// command is CMD, and the lock that it runs under.
type command struct {
	cmd   *exec.Cmd
	under holding
	die   bool   // when this process dies
	warn  bool   // say only that the lock is lost, do not tell CMD to end
	begun func() // called when it was started or could not be; nil: nothing is to be done then
}

// command makes the CMD that the program at path is, with the streams of this process.
func (a *app) command(path string, argv []string, under holding, die bool) *command {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0], cmd.Err = argv[0], nil
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.stdout, a.err
	cmd.WaitDelay = 100 * time.Millisecond // only for streams that are not files: see Cmd.Wait
	cmd.Env = append(os.Environ(), under.environ...)
	return &command{cmd: cmd, under: under, die: die}
}

// hold runs the command under the lock and returns its exit code. An error says that it did not
// run.
func (a *app) hold(c *command, signals *relay) (int, error) {
	code := exitOK
	err := pinned(c.die, c.cmd, func() error {
		err := signals.start(c.cmd, c.under.inherit)
		if c.begun != nil {
			c.begun()
		}
		if err != nil {
			return err
		}
		ended, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-ended:
			case <-c.under.lost().Done():
				a.tellLost(c)
			}
		}()
		err = c.cmd.Wait()
		close(ended)
		<-watched
		if c.cmd.ProcessState == nil {
			return fmt.Errorf("wait for %s: %w", quote(c.cmd.Args[0]), err)
		}
		code = codeOfState(c.cmd.ProcessState)
		return nil
	})
	return code, err
}

// tellLost tells people, and the command, that the lock is lost while the command runs.
func (a *app) tellLost(c *command) {
	cause := c.under.isLost()
	if cause == nil {
		return
	}
	a.toldLost = true
	if c.warn {
		a.say(
			"the lock of %s is lost while CMD runs, "+
				"and its writes with probate write are refused: %v",
			quote(c.under.state),
			cause,
		)
		return
	}
	a.say("the lock of %s is lost, telling CMD (process %d) to end: %v", quote(c.under.state),
		c.cmd.Process.Pid, cause)
	terminate(c.cmd.Process)
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
