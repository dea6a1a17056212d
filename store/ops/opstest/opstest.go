// Package opstest checks stores of operations: whatever implements ops.Store and passes Run keeps
// the contract of package ops, as far as one process can see.
//
// The rules that are checked:
//
//   - Begin is idempotent by id and digest, also for finished and archived operations; the same id
//     with another digest or environment is a conflict; an environment has one unfinished operation
//   - of many that begin at the same time in one environment one wins, and the others learn whose
//     it is; of many that send the same request one has begun it and all get it
//   - a revision grows with every change and is never given twice; a stale one is refused and
//     changes nothing; of many that swap from one revision one succeeds, and no update is lost
//   - phases follow the declaration; a finished operation does not change; its environment is free
//   - RecordOwned and RecordEffects only add, are idempotent, and refuse other details
//   - a receipt spends its nonce once in the whole store: the same one again is a duplicate
//     whatever its log tail, another one is refused; every name is a nonce
//   - any text is an id, and texts that a filesystem may fold are different ones
//   - data comes back exactly; what is returned is the caller's copy; wrong arguments are refused
//   - a follow-up begins in the step that finishes an operation, or neither takes place
//   - Recoverable yields the unfinished with a verdict; a living owner's operation is not claimed
//   - ArchiveFinished puts away all that is finished, and nothing while something is unfinished;
//     listings beside it yield every operation once
//   - everything survives reopening (only with Options.Reopen)
package opstest

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/probate-dev/probate/internal/conform"
	"github.com/probate-dev/probate/store/ops"
)

// Phases are those that the stores under test must be opened with.
func Phases() ops.Phases {
	return ops.Phases{
		Initial: "planned",
		Next: map[ops.Phase][]ops.Phase{
			"planned":  {"applying", "cancelled"},
			"applying": {"applied", "failed"},
		},
		Terminal: []ops.Phase{"applied", "failed", "cancelled"},
	}
}

// Options says what else the store can do. The zero value checks everything that needs no help.
type Options struct {
	// Reopen opens what s keeps once more, as another process would. Nil: not checked.
	Reopen func(s ops.Store) (ops.Store, error)
	// Patience is how long one check may take before it counts as hanging. 0 means 5 minutes.
	Patience time.Duration
}

// Run checks the stores that open returns, each rule in a subtest on a fresh store.
func Run(t *testing.T, open func(t *testing.T) ops.Store, opts Options) {
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
func Check(open func() (ops.Store, error), opts Options) []error {
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
	fn     func(s *store) error
}

// store is the store under test, with what checks need.
type store struct {
	ops.Store
	opts Options
}

var checks = []check{
	{name: "begin", fn: begin},
	{name: "begin-conflict", fn: beginConflict},
	{name: "begin-busy", fn: beginBusy},
	{name: "begin-race", fn: beginRace},
	{name: "begin-same-race", fn: beginSameRace},
	{name: "arguments", fn: arguments},
	{name: "names", fn: names},
	{name: "exact", fn: exact},
	{name: "copies", fn: copies},
	{name: "swap", fn: swap},
	{name: "swap-race", fn: swapRace},
	{name: "phases", fn: phases},
	{name: "own", fn: own},
	{name: "effects", fn: effects},
	{name: "receipts", fn: receipts},
	{name: "receipts-race", fn: receiptsRace},
	{name: "nonces", fn: nonces},
	{name: "follow-up", fn: followUp},
	{name: "recoverable", fn: recoverable},
	{name: "archive", fn: archive},
	{name: "archive-refused", fn: archiveRefused},
	{name: "archive-listing", fn: archiveListing},
	{name: "cancelled", fn: cancelled},
	{name: "reopen", fn: reopen, reopen: true},
}

func run(c check, s ops.Store, opts Options) error {
	return conform.Run(cmp.Or(opts.Patience, 5*time.Minute), func() error {
		return c.fn(&store{s, opts})
	})
}
