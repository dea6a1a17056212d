// Package fencetest checks stores of fencing tokens: whatever implements fence.Store and passes Run
// can stand behind a lock.
//
// The rules that are checked:
//
//   - a fresh store is at some number, and reading it twice says the same
//   - Raise goes up only, refuses what is not greater (ErrNotGreater) or above Max (ErrTooLarge),
//     and changes nothing then; what was raised is what is read, inside and outside of the gate
//   - one gate at a time, also among many goroutines; TryHold says ErrGateBusy at once; Hold
//     waits, and gives up with ErrGateBusy and the cause of the context
//   - a released gate is of no use (ErrReleased), and releasing twice is an error
//   - Guard runs its function once, inside the gate, only for the current token; otherwise
//     ErrFenced with a *FencedError, or ErrNeverIssued; it returns the function's error, and lets
//     the gate go whatever happens
//   - numbers survive reopening (only with Options.Reopen)
package fencetest

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/conform"
)

// Options says what else the store can do. The zero value checks everything that needs no help.
type Options struct {
	// Reopen opens what s keeps once more, as another process would. Nil: not checked.
	Reopen func(s fence.Store) (fence.Store, error)
	// Patience is how long one check may take before it counts as hanging. 0 means 2 minutes.
	Patience time.Duration
}

// Run checks the stores that open returns, each rule in a subtest on a fresh store.
func Run(t *testing.T, open func(t *testing.T) fence.Store, opts Options) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if c.reopen && opts.Reopen == nil {
				t.Skip("no Options.Reopen")
			}
			if err := run(c, open(t), opts); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check does what Run does, outside of a test: it returns what is wrong, one error for each rule
// that does not hold. A check that hangs leaves its goroutines behind.
func Check(open func() (fence.Store, error), opts Options) []error {
	var errs []error
	for _, c := range checks {
		if c.reopen && opts.Reopen == nil {
			continue
		}
		s, err := open()
		if err == nil {
			err = run(c, s, opts)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errs
}

type check struct {
	name   string
	reopen bool // needs Options.Reopen
	fn     func(s fence.Store, opts Options) error
}

func run(c check, s fence.Store, opts Options) error {
	return conform.Run(cmp.Or(opts.Patience, 2*time.Minute), func() error {
		return c.fn(s, opts)
	})
}
