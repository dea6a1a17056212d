package statefile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/refusal"
	"github.com/probate-dev/probate/store/internal/turn"
)

var (
	// ErrContended is returned when a writer that lives held the lock until the context ended, or
	// holds it (TryUpdate). Nothing was changed. Trying again later helps. The error wraps a
	// *lockfile.BusyError, which says who, or says that it is this very process.
	ErrContended = refusal.ErrContended
	// ErrBusy is returned when the lock could not be had although no writer is known to live: its
	// owner cannot be judged from here, takeovers are switched off, or a stopped process keeps the
	// gate. Nothing was changed. Trying again does not help; a person should look.
	ErrBusy = refusal.ErrBusy
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
	if e.Next != "" && !strings.Contains(b.String(), e.Next) { // else the cause says it
		b.WriteString(" (next: " + e.Next + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// refused explains an error of package lockfile.
func (f *File[T]) refused(op, step string, err error) error {
	r := refusal.Of(step, err)
	return &Error{Op: op, Path: f.path, Step: r.Step, Err: r.Err, Next: r.Next}
}

// unread explains why the file could not be read.
func (f *File[T]) unread(op, path string, err error) error {
	err = refusal.Cause(err)
	return &Error{Op: op, Path: path, Step: "read the file", Err: err, Next: refusal.Next(err)}
}
