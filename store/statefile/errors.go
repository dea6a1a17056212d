package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

var (
	// ErrContended is returned when a writer that lives held the lock until the context ended, or
	// holds it (TryUpdate). Nothing was changed. Trying again later helps. The error wraps a
	// *lockfile.BusyError, which says who, or says that it is this very process.
	ErrContended = errors.New("another writer is at it")
	// ErrBusy is returned when the lock could not be had although no writer is known to live: its
	// owner cannot be judged from here, takeovers are switched off, or a stopped process keeps the
	// gate. Nothing was changed. Trying again does not help; a person should look.
	ErrBusy = errors.New("the lock cannot be had")
	// ErrLost is returned when the lock was lost before the write. Nothing was changed.
	ErrLost = lockfile.ErrLost
	// ErrFenced is an ErrLost: somebody took the lock over or broke it. Nothing was changed.
	ErrFenced = lockfile.ErrFenced
	// ErrUnsure is returned when the new version was written, but may be overwritten by somebody
	// who took the lock away meanwhile, or may not outlast a power cut.
	ErrUnsure = lockfile.ErrUnsure
	// ErrCorrupt is returned when the file cannot be decoded. Error.Previous names the previous
	// version where that one can be.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrReentrant is returned by Update, TryUpdate, Save and Restore inside the function of an
	// Update of the same file. Nothing was changed.
	ErrReentrant = turn.ErrReentrant
)

// Error says what failed, at which step, on which file, and what can be done.
type Error struct {
	Op       string // load, update, save, restore, watch
	Path     string
	Step     string // what was being done: "decode the file"
	Next     string // what the program or a person can do
	Previous string // with ErrCorrupt: the file with the last good version, "" where there is none
	Err      error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s: %v", e.Op, e.Path, e.Step, e.Err)
	if e.Next != "" {
		b.WriteString(" (next: " + e.Next + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// kinded gives an error of the lock a sentinel of this package, and keeps its own words.
type kinded struct{ kind, err error }

func (k kinded) Error() string   { return k.kind.Error() + ": " + k.err.Error() }
func (k kinded) Unwrap() []error { return []error{k.kind, k.err} }

// refused explains an error of package lockfile.
func (f *File[T]) refused(op, step string, err error) error {
	e := &Error{Op: op, Path: f.path, Step: step, Err: err}
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok {
		e.Next = busy.Next
		switch {
		case errors.Is(err, lockfile.ErrGateBusy):
			e.Err = kinded{ErrBusy, err}
			e.Next = "look at the process that holds the gate: if it is stopped, continue or end it"
		case busy.Verdict == identity.Alive:
			e.Err = kinded{ErrContended, err}
			e.Next = "try again, or wait longer"
		default:
			e.Err = kinded{ErrBusy, err}
		}
	} else if at, ok := errors.AsType[*lockfile.Error](err); ok {
		e.Step, e.Next = at.Step, at.Next
		if at == err { // do not say everything twice
			e.Err = at.Err
		}
		if errors.Is(err, lockfile.ErrGateBusy) {
			e.Err = kinded{ErrBusy, e.Err}
		}
	}
	if e.Next == "" {
		e.Next = advice(e.Err)
	}
	return e
}

// unread explains why the file could not be read.
func (f *File[T]) unread(op, path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return &Error{Op: op, Path: path, Step: "read the file", Err: err, Next: advice(err)}
}

func advice(err error) string {
	switch {
	case errors.Is(err, ErrReentrant):
		return "do it all in one update"
	case errors.Is(err, turn.ErrTaken), errors.Is(err, ErrContended):
		return "try again, or wait longer"
	case errors.Is(err, ErrUnsure):
		return "load the file, and see whether the change is in it"
	case errors.Is(err, ErrLost):
		return "nothing was changed: try again, from what the file holds now"
	case errors.Is(err, wholefile.ErrNotRegular):
		return "look at what stands there, and move it away"
	case errors.Is(err, wholefile.ErrTooLarge):
		return "if it is meant to be that large, raise Options.MaxBytes"
	case errors.Is(err, fs.ErrNotExist):
		return "create it with Save or Update"
	case errors.Is(err, fs.ErrPermission):
		return "see who may read and write there"
	}
	return "see what the system says, and try again"
}
