package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

// abovePause is the time between two looks at the lock of the run above while CMD runs.
const abovePause = 200 * time.Millisecond

// writeOutput writes what CMD, the program at path, writes to its standard output. An error that is
// not about the write says that CMD did not run or did not end well, and that nothing was written.
func (a *app) writeOutput(ctx context.Context, w writer, o *writeOrder, signals *relay,
) (int64, error) {
	under, done := holdingOf(w)
	defer done()
	from, into, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe for the output of CMD: %w", err)
	}
	c := a.command(o.path, o.argv, under, o.flags.dieWithWrapper)
	c.cmd.Stdout = into
	out := &output{ended: make(chan struct{})}
	out.content, out.feed = io.Pipe()
	out.produce = func() error {
		copied := make(chan error, 1)
		go func() {
			_, err := io.Copy(out.feed, from)
			from.Close() // then the next thing that CMD writes ends it
			copied <- err
		}()
		c.begun = func() { into.Close() }
		code, err := a.hold(c, signals)
		if err != nil {
			return err
		}
		return a.outcome(ctx, o.state, c, code, copied, signals)
	}
	n, err := w.WriteFrom(o.state, out, newFileMode())
	if why := out.end(); err != nil && errors.Is(err, why) {
		err = why
	}
	if out.idle {
		from.Close()
		into.Close()
	}
	return n, err
}

// outcome waits for the end of the output of a CMD that ended with code, and says why that must not
// be written, nil where it may.
func (a *app) outcome(ctx context.Context, state string, c *command, code int, copied <-chan error,
	signals *relay,
) error {
	var err error
	if code == exitOK {
		select {
		case err = <-copied:
			signals.settle(ctx) // the one that ended CMD, and its output, may be on its way
		case <-ctx.Done():
		case <-c.under.lost().Done():
		}
	}
	if lost := c.under.isLost(); lost != nil {
		return noted(lost, leftAlone(state))
	}
	if code != exitOK {
		return &codeError{code, "command",
			fmt.Errorf("%s: CMD failed (%v)", leftAlone(state), c.cmd.ProcessState)}
	}
	if err := context.Cause(ctx); err != nil {
		ended, ok := errors.AsType[*signalError](err)
		if !ok {
			return err
		}
		return &codeError{exitSignal + signalNumber(ended.sig), "signal",
			fmt.Errorf("%s: %w (CMD exited with 0)", leftAlone(state), ended)}
	}
	return err
}

func leftAlone(state string) string { return quote(state) + " is left as it was" }

// output is what CMD writes, as a reader that comes to its end only when that may be written: until
// the last byte is there, and the exit code, nobody knows. CMD is started when it is first read, so
// that it does not run for a state that cannot be written at all.
type output struct {
	produce func() error // runs CMD; its error says why nothing may be written
	content *io.PipeReader
	feed    *io.PipeWriter

	begin sync.Once
	idle  bool // CMD was never started
	ended chan struct{}
	why   error
}

func (o *output) Read(p []byte) (int, error) {
	o.begin.Do(func() {
		go func() {
			defer close(o.ended)
			o.why = o.produce()
			o.feed.CloseWithError(cmp.Or(o.why, io.EOF))
		}()
	})
	return o.content.Read(p)
}

// end takes no more of the output, waits until CMD has ended, and returns why nothing may be
// written.
func (o *output) end() error {
	o.content.Close()
	o.begin.Do(func() {
		o.idle = true
		close(o.ended)
	})
	<-o.ended
	return o.why
}

// holdingOf is the lock that is written under, for a command. done must be called after it.
func holdingOf(w writer) (under holding, done func()) {
	switch lock := w.(type) {
	case *lockfile.Lock:
		return ownLock(lock), func() {}
	case *lockfile.Inherited:
		return lockAbove(lock)
	}
	panic(fmt.Sprintf("a lock of type %T", w))
}

// lockAbove is the lock of the run above. What carries it, and what is to be known of it, this
// process has from there and hands on. Only the run is told of a loss, so it is looked for.
func lockAbove(lock *lockfile.Inherited) (under holding, done func()) {
	lost, cancel := context.WithCancelCause(context.Background())
	var looking sync.WaitGroup
	look := sync.OnceFunc(func() {
		looking.Go(func() {
			tick := time.NewTicker(abovePause)
			defer tick.Stop()
			for {
				if err := lock.Check(); errors.Is(err, lockfile.ErrLost) {
					cancel(err)
				}
				select {
				case <-lost.Done():
					return
				case <-tick.C:
				}
			}
		})
	})
	under = holding{
		state: lock.State(),
		lost: func() context.Context {
			look()
			return lost
		},
		inherit: func(*exec.Cmd) (func(), error) { return func() {}, nil },
	}
	return under, func() {
		cancel(context.Canceled)
		looking.Wait()
	}
}
