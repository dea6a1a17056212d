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

// writeOutput writes what CMD writes to its standard output. An error that is not about the write
// says that CMD did not run or did not end well, and that nothing was written.
func (a *app) writeOutput(ctx context.Context, w writer, o *writeOrder, signals *relay,
) (int64, error) {
	if above, ok := w.(*lockfile.Inherited); ok {
		if err := above.Check(); err != nil { // it may have been lost long ago: CMD must not run
			return 0, noted(err, leftAlone(o.state))
		}
	}
	under, done := holdingOf(w)
	defer done()
	from, into, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe for the output of CMD: %w", err)
	}
	c := a.command(o.path, o.argv, under, o.flags.dieWithWrapper)
	c.cmd.Stdout = into
	c.begun = func() { into.Close() }
	out := &output{a: a, ctx: ctx, state: o.state, c: c, signals: signals, from: from,
		copied: make(chan error, 1), over: make(chan struct{}), ended: make(chan struct{})}
	out.content, out.feed = io.Pipe()
	n, err := w.WriteFrom(w.State(), out, newFileMode())
	if why := out.end(); err != nil && errors.Is(err, why) {
		err = why
	}
	return n, err
}

// output is what CMD writes, as a reader that comes to its end only when that may be written: until
// the last byte is there, and the exit code, nobody knows. CMD is started when it is first read, so
// that it does not run for a state that cannot be written at all.
type output struct {
	a       *app
	ctx     context.Context // ends with a signal
	state   string
	c       *command
	signals *relay
	from    *os.File // the reading end of what CMD writes into

	content *io.PipeReader
	feed    *io.PipeWriter
	copied  chan error    // how the copying into feed ended
	over    chan struct{} // closed when no more is read
	ended   chan struct{} // closed when CMD has ended, or never ran
	why     error         // nothing may be written

	begin sync.Once
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
	close(o.over)
	o.content.Close()
	o.begin.Do(func() { // CMD was never started
		o.from.Close()
		o.c.begun()
		close(o.ended)
	})
	<-o.ended
	return o.why
}

// produce runs CMD, and says why what it wrote must not be written, nil where it may.
func (o *output) produce() error {
	go func() {
		_, err := io.Copy(o.feed, o.from)
		o.from.Close() // then the next thing that CMD writes ends it
		o.copied <- err
	}()
	code, err := o.a.hold(o.c, o.signals)
	if err != nil {
		return err
	}
	if code == exitOK {
		err = o.rest()
	}
	if lost := o.c.under.isLost(); lost != nil {
		return noted(lost, leftAlone(o.state))
	}
	if code != exitOK {
		return &codeError{code, "command",
			fmt.Errorf("%s: CMD failed (%v)", leftAlone(o.state), o.c.cmd.ProcessState)}
	}
	if cause := context.Cause(o.ctx); cause != nil {
		ended, ok := errors.AsType[*signalError](cause)
		if !ok {
			return cause
		}
		return &codeError{exitSignal + signalNumber(ended.sig), "signal",
			fmt.Errorf("%s: %w (CMD exited with 0)", leftAlone(o.state), ended)}
	}
	return err
}

// rest waits for the end of the output of a CMD that has ended, as long as it may be written.
func (o *output) rest() error {
	select {
	case err := <-o.copied:
		o.signals.settle(o.ctx) // the one that ended CMD, and its output, may be on its way
		return err
	case <-o.ctx.Done():
	case <-o.c.under.lost().Done():
	case <-o.over:
	}
	return nil
}

func leftAlone(state string) string { return quote(state) + " is left as it was" }

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
