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
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

func (a *app) writeCommand() *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use:   "write [--wait DUR] STATE",
		Short: "Standard input becomes the content of a state, atomically, durably and fenced",
		Long: `write replaces the content of STATE with standard input: readers see the old
content or the new one, never a part, and the new one is on the disk when write
exits with 0.

Under probate run of the same STATE it writes under the lock of that run, and is
refused when that lock was lost (13) or fenced (14). Else it takes the lock
itself, waits as run does, and holds it while it reads.

15 says that the content was written, but the lock was lost at that moment, so
that somebody else may have written too. A file that exists keeps its mode; a new
one gets 0666 without the bits of the umask.

A signal that ends write, alone or with all of its pipeline (Ctrl-C), leaves the
content as it was. Standard input that ends early by itself, behind a producer
that failed, is an end like any other: keep what the producer writes in a file
until it has succeeded, as below (set -o pipefail does not undo a write).`,
		Example: `  probate run n.json -- sh -c 'jq .n+=1 n.json >new && probate write n.json <new'
  date | probate write last-run.txt   # alone only for content that does not depend on the old one`,
		Args: operands("STATE"),
	}
	fl := cmd.Flags()
	w.register(fl)
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		if err := checkState("write", args[0]); err != nil {
			return err
		}
		if err := w.check("write", fl.Changed("wait")); err != nil {
			return err
		}
		return a.write(ctx, args[0], w)
	})
	return cmd
}

// writer is a lock to write under: our own, or the one of the run above.
type writer interface {
	WriteFrom(path string, r io.Reader, perm fs.FileMode) (int64, error)
	Token() fence.Token
	ID() string
	State() string
}

func (a *app) write(ctx context.Context, state string, w waiting) error {
	ctx, signals := relaySignals(ctx)
	defer signals.stop()
	inherited, err := lockfile.Inherit(state, os.Environ(), a.options())
	if err != nil {
		return signals.or(err)
	}
	if inherited != nil {
		defer inherited.Close()
		return a.writeUnder(ctx, inherited, state, signals)
	}
	lock, err := a.acquire(ctx, state, w, a.options())
	if err != nil {
		return signals.or(err)
	}
	err = a.writeUnder(ctx, lock, state, signals)
	released := lock.Release()
	if err != nil {
		a.also(released)
		return err
	}
	return afterWrite(state, released)
}

// afterWrite says of a release that failed that the state was written before.
func afterWrite(state string, released error) error {
	failed, ok := errors.AsType[*lockfile.Error](released)
	if !ok || errors.Is(released, lockfile.ErrLost) {
		return released
	}
	said := *failed
	said.Err = fmt.Errorf("%w (%s has the new content)", failed.Err, quote(state))
	return &said
}

func (a *app) writeUnder(ctx context.Context, w writer, state string, signals *relay) error {
	n, err := w.WriteFrom(state, interruptible(ctx, a.in, signals), newFileMode())
	if err != nil {
		return signals.or(err)
	}
	if a.json {
		err := writeJSON(a.out, struct {
			State  string      `json:"state"`
			Bytes  int64       `json:"bytes"`
			LockID string      `json:"lockID"`
			Fence  fence.Token `json:"fence"`
		}{w.State(), n, w.ID(), w.Token()})
		if err != nil {
			return fmt.Errorf("write to standard output: %w (%s has the new content)", err,
				quote(state))
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
