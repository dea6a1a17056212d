// Package docstest checks stores of versioned documents: whatever implements docs.Store and passes
// Run can be used like those of package docs.
//
// The rules that are checked:
//
//   - what is not there is docs.ErrMissing; it is created at version 1, expecting docs.Absent, and
//     every write makes the version one larger
//   - a write or a deletion that expects another version than the newest is a *docs.ConflictError
//     that names the newest, and changes nothing
//   - of writers with the same expected version exactly one wins, and a loop of load and
//     compare-and-swap loses no update
//   - a deleted document is missing, and one that is created anew has a version that none had
//     before
//   - values come back exactly, in canonical form, or are refused (docs.ErrValue), and are copies
//   - keys are 1 to 120 of A-Z a-z 0-9 . _ -, and not . or ..; others are docs.ErrKey; keys that
//     differ in case only are two documents, or the second one is refused (docs.ErrKey)
//   - List has every document, sorted, also beside writes, and nothing else
//   - a watch tells the newest version at first and after changes, deletions included, never misses
//     the last one, and ends with its context or its loop
//   - an ended context changes nothing, and its cause is told
//   - errors are *docs.Error, or have one inside, and say operation, key, step and what next
//   - two openings are one store, and what was written is there after reopening (with
//     Options.Second, Options.Reopen)
//   - a damaged document is docs.ErrCorrupt for every operation, is still listed, stays as it is,
//     and keeps nobody from the others (with Options.Damage and Options.Raw)
//   - a write that fails leaves the old version (with Options.FailWrites)
//   - a writer that dies at any step leaves the old or the new version, and keeps nobody out (with
//     Options.Interrupt)
package docstest

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/probate-dev/probate/internal/conform"
	"github.com/probate-dev/probate/store/docs"
)

// Options says what else the store can do. The zero value checks everything that needs no help.
type Options struct {
	// Second opens what s keeps once more, to be used beside s. Nil: not checked.
	Second func(s docs.Store) (docs.Store, error)
	// Reopen closes s and opens what it kept anew, as after a restart. Nil: not checked.
	Reopen func(s docs.Store) (docs.Store, error)
	// Damage damages a document where it is kept. Nil: not checked.
	Damage func(s docs.Store, key string) error
	// Raw returns what is kept for a document, to see that nobody touched it. Needed for Damage.
	Raw func(s docs.Store, key string) ([]byte, error)
	// FailWrites makes a compare-and-swap of s fail in its last step, as on a full disk, and
	// returns its error. Nil: not checked.
	FailWrites func(s docs.Store, key string, expected docs.Version, value []byte) error
	// Interrupt lets another process write with compare-and-swap, and kills it before its step-th
	// step. done says that it came to its end before that. Nil: not checked.
	Interrupt func(s docs.Store, key string, expected docs.Version, value []byte, step int) (
		done bool, err error)
	// FewSteps checks only some of the steps of Interrupt, where one takes long.
	FewSteps bool
	// Patience is how long one check may take before it counts as hanging. 0 means 2 minutes.
	Patience time.Duration
}

type check struct {
	name  string
	needs func(Options) bool // nil: nothing
	fn    func(s docs.Store, opts Options) error
}

var checks = []check{
	{name: "missing", fn: missing},
	{name: "create", fn: create},
	{name: "stale", fn: stale},
	{name: "versions", fn: versions},
	{name: "one-winner", fn: oneWinner},
	{name: "lost-update", fn: lostUpdate},
	{name: "delete", fn: deletes},
	{name: "delete-create", fn: deleteCreate},
	{name: "copies", fn: copies},
	{name: "values", fn: values},
	{name: "refused-values", fn: refusedValues},
	{name: "keys", fn: keys},
	{name: "refused-keys", fn: refusedKeys},
	{name: "keys-case", fn: keysCase},
	{name: "list", fn: list},
	{name: "list-beside-writes", fn: listBesideWrites},
	{name: "watch", fn: watches},
	{name: "watch-last", fn: watchLast},
	{name: "watch-ends", fn: watchEnds},
	{name: "context", fn: contextEnds},
	{name: "errors", fn: errorsSay},
	{name: "second", needs: func(o Options) bool { return o.Second != nil }, fn: second},
	{name: "reopen", needs: func(o Options) bool { return o.Reopen != nil }, fn: reopen},
	{
		name:  "damage",
		needs: func(o Options) bool { return o.Damage != nil && o.Raw != nil },
		fn:    damage,
	},
	{name: "fail", needs: func(o Options) bool { return o.FailWrites != nil }, fn: failing},
	{name: "interrupt", needs: func(o Options) bool { return o.Interrupt != nil }, fn: interrupt},
}

// Run checks the stores that open returns, each rule in a subtest on a fresh store.
func Run(t *testing.T, open func(t *testing.T) docs.Store, opts Options) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if c.needs != nil && !c.needs(opts) {
				t.Skip("the options do not say how to do that to the store")
			}
			if err := run(c, open(t), opts); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check does what Run does, outside of a test: it returns what is wrong, one error for each rule
// that does not hold. A check that hangs leaves its goroutines behind.
func Check(open func() (docs.Store, error), opts Options) []error {
	var errs []error
	for _, c := range checks {
		if c.needs != nil && !c.needs(opts) {
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

func run(c check, s docs.Store, opts Options) error {
	return conform.Run(cmp.Or(opts.Patience, 2*time.Minute), func() error {
		return c.fn(s, opts)
	})
}

var always = context.Background()
