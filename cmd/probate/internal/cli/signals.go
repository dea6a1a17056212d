package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"
)

// signalError is the cause of the end of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return fmt.Sprintf("ended by signal: %v", e.sig) }

// relay takes the signals that would end this process. The first one that asks it to end ends the
// context. Before a command runs that is any of them; afterwards all go to the command. None is
// lost in between: the one lock decides.
type relay struct {
	incoming chan os.Signal
	cancel   context.CancelCauseFunc
	behind   chan struct{} // takes one when the marker has come

	mu      sync.Mutex
	first   os.Signal
	child   *os.Process
	stopped bool
}

// relaySignals begins to take signals. Signals that were ignored when this process started (nohup)
// stay ignored, here and in the command.
func relaySignals(ctx context.Context) (context.Context, *relay) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &relay{incoming: make(chan os.Signal, 16), cancel: cancel, behind: make(chan struct{}, 1)}
	for _, sig := range relayed {
		if !signal.Ignored(sig) {
			signal.Notify(r.incoming, sig)
		}
	}
	// A broken pipe behind our messages must not end us while we hold a lock, nor take the exit
	// code away at the end: these stay taken. They are not ignored, for the command would inherit
	// that.
	for _, sig := range taken {
		signal.Notify(make(chan os.Signal, 1), sig)
	}
	go func() {
		for sig := range r.incoming {
			r.deliver(sig)
		}
	}()
	return ctx, r
}

func (r *relay) deliver(sig os.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case sig == marker:
		select {
		case r.behind <- struct{}{}:
		default:
		}
	case r.child != nil:
		if asksToEnd(sig) {
			r.end(sig)
		}
		if !terminalSends(sig, r.child) {
			r.child.Signal(sig) // fails only when it has ended
		}
	default:
		r.end(sig)
	}
}

// end keeps the first signal. r is locked.
func (r *relay) end(sig os.Signal) {
	if r.first == nil {
		r.first = sig
		r.cancel(&signalError{sig})
	}
}

// start starts the command with what carries the lock inherited, unless a signal came first.
func (r *relay) start(cmd *exec.Cmd, inherit func(*exec.Cmd) (func(), error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil {
		return interrupted(r.first, nil)
	}
	giveBack, err := inherit(cmd)
	if err != nil {
		return fmt.Errorf("hand the lock to %s: %w", quote(cmd.Args[0]), err)
	}
	defer giveBack()
	if err := cmd.Start(); err != nil {
		if isShortage(err) {
			return fmt.Errorf("start %s: %w", quote(cmd.Path), err) // ours, not the command's
		}
		return cannotRun(cmd, err)
	}
	r.child = cmd.Process
	return nil
}

// or returns err, or the end by the signal that caused it.
func (r *relay) or(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || r.first == nil {
		return err
	}
	return interrupted(r.first, err)
}

func interrupted(sig os.Signal, err error) error {
	if rf, ok := errors.AsType[*refusal](err); ok {
		return &codeError{exitSignal + signalNumber(sig), "signal",
			fmt.Errorf("%v while waiting for %s", sig, quote(rf.state))}
	}
	return &codeError{exitSignal + signalNumber(sig), "signal", &signalError{sig}}
}

// settling is how long the signal that ends a whole pipeline may be on its way to one of its
// processes while another one has ended of it: the kernel sends it to one after the other.
const settling = 10 * time.Millisecond

// unmarked bounds the wait for the marker, which does not come when it is blocked, or when there
// were too many signals. A process may stand still for seconds (a throttled cgroup, a machine that
// was suspended) and find signals before it then.
const unmarked = 5 * time.Second

// settle waits until a signal that was sent to this process, or to all of a pipeline, before now
// has been taken, or ctx ends. On a busy machine that is long after it was sent. A marker that this
// process sends to itself comes behind it: the kernel hands out, and the runtime passes on, the
// lowest number first.
func (r *relay) settle(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(settling):
	}
	if !r.mark() {
		return
	}
	select {
	case <-ctx.Done():
	case <-r.behind:
	case <-time.After(unmarked):
	}
}

// mark sends the marker, and reports whether it will come.
func (r *relay) mark() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if marker == nil || r.stopped {
		return false
	}
	signal.Notify(r.incoming, marker)
	return raise(marker) == nil
}

func (r *relay) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	signal.Stop(r.incoming)
	close(r.incoming) // nothing is sent after Stop
	r.cancel(context.Canceled)
}
