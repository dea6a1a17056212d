package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

var (
	// ErrFenced is returned by Guard when the counter is larger than the token: a later tenure has
	// begun. The error is a *FencedError.
	ErrFenced = errors.New("fenced: a later token has been handed out")
	// ErrNeverIssued is returned by Guard when the counter is smaller than the token: this counter
	// has never handed that token out. The token belongs to another counter, or the counter was put
	// back.
	ErrNeverIssued = errors.New("this counter has never handed out that token")
	// ErrNotGreater is returned by Raise when the new number is not greater than the current one.
	// Nothing was changed.
	ErrNotGreater = errors.New("not greater than the current number")
	// ErrTooLarge is returned by Raise when the new number is above Max. Nothing was changed.
	ErrTooLarge = errors.New("larger than 2^53-1")
	// ErrGateBusy is returned when somebody else holds the gate: by TryHold at once, by Hold and
	// Guard when the context ends.
	ErrGateBusy = errors.New("somebody else holds the gate")
	// ErrGateLost is returned when the file of the counter was deleted or replaced while its gate
	// was held: others may have come through meanwhile. Nobody who keeps to the rules does that.
	ErrGateLost = errors.New("the counter was deleted or replaced while its gate was held")
	// ErrReleased is returned by the methods of a gate that was released.
	ErrReleased = errors.New("the gate was released")
	// ErrDamaged is returned when what is stored is not a number, or is smaller than a number that
	// this Counter has seen there. A damaged counter is never read as zero.
	ErrDamaged = errors.New("the counter is damaged")
)

// FencedError says who was overtaken by what. It matches ErrFenced.
type FencedError struct {
	Path    string // the counter
	Token   Token  // what the caller presented
	Current Token  // what the counter says
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("fence: guard %s: token %d was overtaken: the counter is at %d",
		e.Path, e.Token, e.Current)
}

// Is reports whether target is ErrFenced.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// Error is the error of everything else: which step failed, on which counter, and why.
type Error struct {
	Op   string // the step, in plain words
	Path string // the counter
	Err  error
}

func (e *Error) Error() string { return "fence: " + e.Op + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// fail names the step and the path, once.
func fail(op, path string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		return e
	case *fs.PathError:
		if e.Path == path {
			return &Error{op, path, e.Err}
		}
	case *os.LinkError:
		return &Error{op, path, fmt.Errorf("%s %s: %w", e.Op, e.Old, e.Err)}
	}
	return &Error{op, path, err}
}
