package ops

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

var (
	// ErrInvalid is returned when an argument can never be right: an empty id, text that is not
	// UTF-8, data that is not JSON, phases that contradict each other.
	ErrInvalid = errors.New("invalid argument")
	// ErrNotFound is returned when there is no operation with that id.
	ErrNotFound = errors.New("no such operation")
	// ErrConflict is returned when something of the same name exists with other contents: a request
	// id with another digest or environment, a resource or an effect with other details.
	ErrConflict = errors.New("the same name with other contents")
	// ErrBusy is returned by Begin when the environment has an unfinished operation, and by
	// ArchiveFinished: Error.Current is that operation.
	ErrBusy = errors.New("an operation is unfinished")
	// ErrStale is returned when the operation is not at the expected revision any more:
	// Error.Current is what it is now.
	ErrStale = errors.New("the operation has changed")
	// ErrFinished is returned for changes to an operation in a terminal phase.
	ErrFinished = errors.New("the operation is finished")
	// ErrPhase is returned when the declared phases do not allow a change.
	ErrPhase = errors.New("not allowed by the declared phases")
	// ErrHeld is returned by Claim when the process that works on the operation is not provably
	// gone: Error.Finding says what is known.
	ErrHeld = errors.New("its process is not provably gone")
	// ErrNonceSpent is returned by Accept when another receipt has used the nonce.
	ErrNonceSpent = errors.New("another receipt has used this nonce")
	// ErrTooLarge is returned when an operation would not fit into a file of MaxBytes. Nothing was
	// changed.
	ErrTooLarge = errors.New("too large")
	// ErrDamaged is returned for a file that cannot be what was written there, without a previous
	// copy that could stand in. It blocks what the file is about, and nothing else.
	ErrDamaged = errors.New("the file is damaged")
	// ErrForeign is returned for a file that this store did not make, or not under that name.
	ErrForeign = errors.New("not a file of this store")
	// ErrNewer is returned for a file of a format that this version does not know.
	ErrNewer = errors.New("written by a later version")
)

// Error says which operation of the store failed, at which step, on which file or folder, and what
// can be done. It wraps the cause: one of the errors of this package, of package lockfile
// (lockfile.ErrBusy, ErrFenced, ErrLost, ErrUnsure, …), or of the system.
type Error struct {
	Op   string // begin, get, compare and swap, record, accept, claim, list, archive
	Path string // the file or folder that it is about
	Step string // what was being done: "read the operation"
	ID   string // of the operation, "" where it is about none or about one that is not known
	Next string // what can be done, "" where nothing is known
	Err  error

	Current *Operation       // ErrBusy, ErrConflict, ErrStale, ErrFinished, ErrHeld, ErrPhase
	Finding identity.Finding // ErrHeld
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.Op)
	if e.ID != "" {
		fmt.Fprintf(&b, "operation %.80q: ", e.ID)
	}
	fmt.Fprintf(&b, "%s: %s: %v", e.Step, e.Path, e.Err)
	if e.Next != "" && !strings.Contains(b.String(), e.Next) { // else the cause says it
		fmt.Fprintf(&b, "; %s", e.Next)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// failed makes an error about a file, which is named from the store's folder.
func (v *view) failed(step, name, id string, err error) *Error {
	e := &Error{Op: v.op, Path: filepath.Join(v.f.dir, filepath.FromSlash(name)), Step: step,
		ID: id, Err: err}
	e.Next = advice(err)
	return e
}

// advice returns what can be done about an error, "" where nothing is known.
func advice(err error) string {
	switch {
	case errors.Is(err, ErrDamaged):
		return "put a good copy of the file back, or move it away if its operation is over"
	case errors.Is(err, ErrForeign):
		return "move the file out of the store's folder"
	case errors.Is(err, ErrNewer):
		return "use the version of the program that wrote it, or a later one"
	case errors.Is(err, ErrNotFound):
		return "check the id, or begin the operation"
	case errors.Is(err, ErrStale):
		return "read the operation again, and decide again"
	case errors.Is(err, ErrFinished):
		return "begin another operation"
	case errors.Is(err, ErrPhase):
		return "choose a phase that may follow"
	case errors.Is(err, ErrNonceSpent):
		return "use a nonce that was not used before"
	case errors.Is(err, ErrConflict):
		return "use another name, or send what was sent before"
	case errors.Is(err, ErrTooLarge):
		return "keep the data elsewhere, and its name here"
	case errors.Is(err, ErrInvalid):
		return "correct the call"
	case errors.Is(err, lockfile.ErrUnsure):
		return "read the operation again: the change may have been made"
	case errors.Is(err, lockfile.ErrLost):
		return "read the operation again: another writer has gone on"
	}
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok {
		return busy.Next
	}
	if at, ok := errors.AsType[*lockfile.Error](err); ok && at.Next != "" {
		return at.Next
	}
	switch lockfile.KindOf(err) {
	case lockfile.KindNoSpace:
		return "make room on the disk, and try again"
	case lockfile.KindPermission:
		return "check who owns the folder, and who runs this program"
	case lockfile.KindReadOnly:
		return "make the filesystem writable"
	case lockfile.KindNotFound:
		return "create the folder"
	}
	return ""
}

// refused makes an error about an operation that can be read.
func (v *view) refused(step string, at located, next string, err error) *Error {
	e := v.failed(step, at.file, at.op.ID, err)
	op := at.operation()
	if e.Current = &op; next != "" {
		e.Next = next
	}
	return e
}
