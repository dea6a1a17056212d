package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

// writeFlags are those of write. Without CMD some of them are about nothing.
type writeFlags struct{ commandFlags }

// writeOrder is what one call of write is to do.
type writeOrder struct {
	state string
	flags writeFlags
	path  string   // of the program of CMD
	argv  []string // CMD; nil: standard input is written
}

func (a *app) writeCommand() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "write [flags] STATE [-- CMD [ARG…]]",
		Short: "Replace a state by what CMD writes, or by standard input",
		Long:  writeLong,
		Example: `  probate write n.json -- jq .n+=1 n.json   # reads and writes under the lock
  probate write out.txt -- bash -o pipefail -c 'sort in.txt | uniq -c'
  date | probate write last-run.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := stateAndCommand(args, cmd.ArgsLenAtDash())
			return err
		},
	}
	fl := cmd.Flags()
	f.register(fl)
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		state, argv, err := stateAndCommand(args, cmd.ArgsLenAtDash())
		if err != nil {
			return err
		}
		if err := checkState("write", state); err != nil {
			return err
		}
		if err := f.check("write", fl); err != nil {
			return err
		}
		o := &writeOrder{state: state, flags: f, argv: argv}
		if argv != nil {
			o.path, err = lookCommand(argv[0])
		} else {
			err = a.checkInput(o)
		}
		if err != nil {
			return err // before the lock: a typing error should not wait for anybody
		}
		return f.coded(a.write(ctx, o))
	})
	return cmd
}

const writeLong = `write replaces the content of STATE: readers see the old content or the new one,
never a part, and the new one is on the disk when write exits with 0. It takes the
lock and waits for it as run does. Under probate run of the same STATE it writes
under the lock of that run, and is refused when that lock was lost (13) or fenced
(14).

With CMD, what CMD writes to its standard output becomes the content, if CMD exits
with 0. Else STATE is left as it was, and the exit code is that of CMD, or 128 and
the number of the signal that it died of. CMD runs as under run: under the lock,
so that it may read STATE and change it, with standard input, standard error,
environment and signals as run has them. Like $(…), write waits for the end of the
output too, also where CMD left something in the background that has it open. A
pipeline in CMD must tell of every failure in it: a shell does with pipefail only.

A signal that asks to end (TERM, INT, HUP, QUIT) is forwarded to CMD, and nothing
is written after it: where CMD exits with 0 all the same, the exit code is 128+n.
If the lock is lost meanwhile, CMD gets TERM, nothing is written, and the exit code
is 13 or 14. If write is killed, nothing is written, and the lock stays held as
long as CMD lives. A probate write of the same STATE inside CMD works, but what CMD
writes comes after it, even if that is nothing.

Without CMD, standard input is the content, and its end is an end, also behind a
producer that failed: let write run the producer. A signal that ends write, alone
or with all of its pipeline (Ctrl-C), leaves the content as it was. The null device
(also a closed input) is refused: to empty STATE, let CMD write nothing.

15 says that the content was written, but the lock was lost at that moment, so
that somebody else may have written too. A file that exists keeps its mode; a new
one gets 0666 without the bits of the umask.`

// stateAndCommand takes the operands of write apart. dash is how many of them stand before the
// dashes that begin a command, or only end the flags; -1: there are none.
func stateAndCommand(args []string, dash int) (state string, argv []string, err error) {
	bad := func(format string, args ...any) (string, []string, error) {
		return "", nil, &usageError{what: fmt.Sprintf(format, args...), verb: "write"}
	}
	dashes := dash >= 0
	if dash == 0 && len(args) > 0 { // "-- STATE [-- CMD]"
		dashes = len(args) > 1 && args[1] == "--"
		if dash = 1; dashes {
			args = append([]string{args[0]}, args[2:]...)
		}
	}
	if !dashes {
		dash = len(args)
	}
	switch {
	case dash == 0:
		return bad("STATE is missing")
	case dash > 1:
		return bad("%q is one argument too many; a command stands behind --: "+
			"probate write %s -- CMD", args[1], operand(args[0]))
	case !dashes:
		return args[0], nil, nil
	case len(args) == 1:
		return bad("CMD is missing: probate write %s -- CMD", operand(args[0]))
	}
	return args[0], args[1:], nil
}

// checkInput refuses what is no content but the lack of one, and flags without their CMD.
func (a *app) checkInput(o *writeOrder) error {
	if o.flags.dieWithWrapper {
		return &usageError{
			what: "--die-with-wrapper is about CMD, and there is none",
			verb: "write",
		}
	}
	if f, ok := a.in.(*os.File); ok && f != nil && isNullDevice(f) {
		return &usageError{
			what: "standard input is the null device or closed, which would empty " +
				quote(o.state),
			verb: "write",
			next: "to empty it on purpose: probate write " + operand(o.state) + " -- " +
				shell.Here.Nothing(),
		}
	}
	return nil
}

// writer is a lock to write under: our own, or the one of the run above. What is written is its
// State: the path that was given may lead elsewhere by now, where another lock counts.
type writer interface {
	WriteFrom(path string, r io.Reader, perm fs.FileMode) (int64, error)
	Token() fence.Token
	ID() string
	State() string
}

func (a *app) write(ctx context.Context, o *writeOrder) error {
	ctx, signals := relaySignals(ctx)
	defer signals.stop()
	inherited, err := lockfile.Inherit(o.state, os.Environ(), a.options())
	if err != nil {
		return signals.or(err)
	}
	if inherited != nil {
		defer inherited.Close()
		return a.writeUnder(ctx, inherited, o, signals)
	}
	lock, err := a.acquire(ctx, o.state, o.flags.waiting, o.flags.options(a))
	if err != nil {
		return signals.or(err)
	}
	err = a.writeUnder(ctx, lock, o, signals)
	released := lock.Release()
	if err != nil {
		a.also(released)
		return err
	}
	if errors.Is(released, lockfile.ErrLost) {
		return released
	}
	return noted(released, hasNewContent(o.state))
}

func hasNewContent(state string) string { return quote(state) + " has the new content" }

func (a *app) writeUnder(ctx context.Context, w writer, o *writeOrder, signals *relay) error {
	var n int64
	var err error
	if o.argv != nil {
		n, err = a.writeOutput(ctx, w, o, signals)
	} else {
		n, err = w.WriteFrom(w.State(), interruptible(ctx, a.in, signals), newFileMode())
		err = signals.or(err)
	}
	if err != nil {
		return err
	}
	if a.json {
		err := writeJSON(a.out, struct {
			State  string      `json:"state"`
			Bytes  int64       `json:"bytes"`
			LockID string      `json:"lockID"`
			Fence  fence.Token `json:"fence"`
		}{w.State(), n, w.ID(), w.Token()})
		if err != nil {
			return &unheard{hasNewContent(o.state), o.state, err}
		}
	}
	return nil
}

// interruptible ends the reading when the context ends: a read from a terminal or a pipe cannot be
// interrupted itself, so it is left behind. A signal that ends a whole pipeline shows as the end of
// its output too, and that may come first: it is an end only when no signal is on its way.
func interruptible(ctx context.Context, r io.Reader, signals *relay) io.Reader {
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(pw, r)
		if err == nil && !isPlainFile(r) {
			signals.settle(ctx)
		}
		stop()
		pw.CloseWithError(cmp.Or(context.Cause(ctx), err))
	}()
	return pr
}

// isPlainFile reports whether the end of r is the end of a file, and nobody's who writes it.
func isPlainFile(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
