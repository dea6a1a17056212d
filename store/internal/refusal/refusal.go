// Package refusal sorts the reasons for which a store could not get or keep its lock, in words and
// errors that all stores share.
package refusal

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

var (
	// ErrContended says that a writer that lives holds the lock.
	ErrContended = errors.New("another writer is at it")
	// ErrBusy says that the lock cannot be had although no writer is known to live.
	ErrBusy = errors.New("the lock cannot be had")
)

// kinded gives an error a sentinel, and keeps its own words.
type kinded struct{ kind, err error }

func (k kinded) Error() string   { return k.kind.Error() + ": " + k.err.Error() }
func (k kinded) Unwrap() []error { return []error{k.kind, k.err} }

// Contended marks an error as ErrContended.
func Contended(err error) error { return kinded{ErrContended, err} }

// Cause takes the path out of an error that will say it anyway.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Refusal is what a store says about an error: at which step, why, and what next.
type Refusal struct {
	Step string
	Next string
	Err  error
}

// Of explains an error of package lockfile, or of the steps around it. step is what was being done,
// where the error does not know better.
func Of(step string, err error) Refusal {
	r := Refusal{Step: step, Err: err}
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok {
		r.Next = busy.Next
		switch {
		case errors.Is(err, lockfile.ErrGateBusy):
			r.Err, r.Next = kinded{ErrBusy, err}, nextGate
		case busy.Verdict == identity.Alive:
			r.Err, r.Next = kinded{ErrContended, err}, cmp.Or(busy.Next, nextWait)
		default:
			r.Err = kinded{ErrBusy, err}
		}
	} else if at, ok := errors.AsType[*lockfile.Error](err); ok {
		r.Step, r.Next = cmp.Or(at.Step, step), at.Next
		if at == err { // do not say everything twice
			r.Err = at.Err
		}
		if errors.Is(err, lockfile.ErrGateBusy) {
			r.Err = kinded{ErrBusy, r.Err}
		}
	}
	if r.Next == "" {
		r.Next = Next(r.Err)
	}
	return r
}

const (
	nextWait = "try again, or wait longer"
	nextGate = "look at the process that holds the gate: if it is stopped, continue or end it"
)

// Next says what to do about an error for which nothing better is known.
func Next(err error) string {
	switch {
	case errors.Is(err, turn.ErrReentrant):
		return "do it all in one update"
	case errors.Is(err, ErrContended):
		return nextWait
	case errors.Is(err, lockfile.ErrUnsure):
		return "load it, and see whether the change is in it"
	case errors.Is(err, lockfile.ErrLost):
		return "nothing was changed: try again, from what is there now"
	case errors.Is(err, wholefile.ErrNotRegular):
		return "look at what stands there, and move it away"
	case errors.Is(err, wholefile.ErrTooLarge):
		return "if it is meant to be that large, raise Options.MaxBytes"
	case errors.Is(err, fs.ErrNotExist):
		return "create it first"
	case errors.Is(err, fs.ErrPermission):
		return "see who may read and write there"
	}
	return "see what the system says, and try again"
}
