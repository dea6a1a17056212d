package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/refusal"
)

var (
	// ErrMissing is returned when there is no such document. It matches fs.ErrNotExist.
	ErrMissing = fmt.Errorf("no such document: %w", fs.ErrNotExist)
	// ErrConflict is returned when the document has another version than expected. The error is a
	// *ConflictError. Nothing was changed.
	ErrConflict = errors.New("the document has another version")
	// ErrCorrupt is returned when what is kept is damaged, or in a form that this version does not
	// know. Nothing was changed.
	ErrCorrupt = errors.New("the document is damaged")
	// ErrKey is returned when the key cannot name a document here.
	ErrKey = errors.New("not a key")
	// ErrValue is returned when the value is not JSON, or cannot be kept exactly.
	ErrValue = errors.New("not a value that can be kept")
	// ErrLastVersion is returned when the document is at MaxVersion, or was when it was deleted.
	// Nothing was changed.
	ErrLastVersion = errors.New("no version comes after the one that was reached")
	// ErrContended is returned when a writer that lives kept the lock until the context ended.
	// Nothing was changed. Trying again later helps.
	ErrContended = refusal.ErrContended
	// ErrBusy is returned when the lock could not be had although no writer is known to live: its
	// owner cannot be judged from here, or a stopped process keeps the gate. Nothing was changed.
	// Trying again does not help; a person should look.
	ErrBusy = refusal.ErrBusy
	// ErrLost is returned when the lock was lost before the write. Nothing was changed.
	ErrLost = lockfile.ErrLost
	// ErrFenced is an ErrLost: a later writer took over. Nothing was changed.
	ErrFenced = lockfile.ErrFenced
	// ErrUnsure is returned when the write was made, but may be overwritten by somebody who took
	// the lock away meanwhile, or may not outlast a power cut.
	ErrUnsure = lockfile.ErrUnsure
)

// ConflictError says which version stands in the way. It matches ErrConflict.
type ConflictError struct {
	Key      string
	Expected Version
	Current  Version // Absent where there is no document
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: expected %s, found %s", ErrConflict, e.Expected, e.Current)
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

func (v Version) String() string {
	if v == Absent {
		return "none"
	}
	return fmt.Sprintf("version %d", uint64(v))
}

// Error says what failed, at which step, on which document, and what can be done.
type Error struct {
	Op   string // load, swap, delete, list, watch, open
	Key  string // "" for list and open
	Path string // the file, table or folder; "" in memory
	Step string // what was being done: "decode the document"
	Next string // what the program or a person can do
	Err  error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Key != "" {
		fmt.Fprintf(&b, " %q", e.Key)
	}
	if e.Path != "" {
		b.WriteString(" in " + e.Path)
	}
	fmt.Fprintf(&b, ": %s: %v", e.Step, e.Err)
	if e.Next != "" && !strings.Contains(b.String(), e.Next) { // else the cause says it
		b.WriteString(" (next: " + e.Next + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Op names of errors.
const (
	opLoad   = "load"
	opSwap   = "swap"
	opDelete = "delete"
	opList   = "list"
	opWatch  = "watch"
	opOpen   = "open"
)

// Explain makes an error of a store from the cause of a failed step: where a store has nothing
// better to say about what comes next, this says it.
func Explain(op, key, path, step string, err error) *Error {
	r := refusal.Of(step, err)
	e := &Error{Op: op, Key: key, Path: path, Step: r.Step, Next: r.Next, Err: r.Err}
	switch {
	case errors.Is(err, ErrConflict):
		e.Next = "load it, and base the change on what is there now"
	case errors.Is(err, ErrMissing):
		e.Next = "create it, expecting no version"
	case errors.Is(err, ErrCorrupt):
		e.Next = "restore it from a backup, or move it away"
	case errors.Is(err, ErrKey):
		e.Next = "use 1 to 120 of A-Z a-z 0-9 . _ -, and no key that differs in case only"
	case errors.Is(err, ErrValue):
		e.Next = "give it JSON, and what JSON cannot hold exactly as a string"
	case errors.Is(err, ErrLastVersion):
		e.Next = "keep it under another key"
	}
	return e
}

// begin checks what every call checks first.
func begin(ctx context.Context, op, key, path string) error {
	if ctx.Err() != nil {
		e := Explain(op, key, path, "begin", ended.Cause(ctx))
		e.Next = "nothing was done: try again, with more time"
		return e
	}
	if op == opList {
		return nil
	}
	if err := CheckKey(key); err != nil {
		return Explain(op, key, path, "check the key", err)
	}
	return nil
}

// prepare checks what every compare-and-swap checks after begin, and returns the value in canonical
// form.
func prepare(key, path string, value []byte) ([]byte, error) {
	canonical, err := Canonical(value)
	if err != nil {
		return nil, Explain(opSwap, key, path, "check the value", err)
	}
	return canonical, nil
}

// after returns the version of a write that comes after the one of version v.
func after(v Version, key, path string) (Version, error) {
	if v >= MaxVersion {
		return Absent, Explain(opSwap, key, path, "count the version", ErrLastVersion)
	}
	return v + 1, nil
}

func conflict(op, key, path string, expected, current Version) error {
	return Explain(op, key, path, "compare the version",
		&ConflictError{Key: key, Expected: expected, Current: current})
}
