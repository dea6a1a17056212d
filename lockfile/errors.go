package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/internal/vfs"
)

var (
	// ErrBusy is returned when somebody else holds the lock, or may hold it: the error is a
	// *BusyError with the whole finding.
	ErrBusy = errors.New("lock is busy")
	// ErrLost is returned when the lock that was held is not held any more. It is also the cause of
	// the end of Lock.Context.
	ErrLost = errors.New("lock lost")
	// ErrFenced is an ErrLost: somebody took the lock over or broke it, and the fence counter says
	// so.
	ErrFenced = fmt.Errorf("fenced: somebody took the lock over or broke it: %w", ErrLost)
	// ErrUnsure is returned when a commit was carried out, and then the lock was found lost (the
	// error matches ErrLost too: somebody may have written in between), or the directory could not
	// be flushed (the write may not outlast a power cut).
	ErrUnsure = errors.New("written, but unsure")
	// ErrReleased is returned for operations on a lock that was released, and is the cause of the
	// end of Lock.Context after Release.
	ErrReleased = errors.New("lock was released")
	// ErrNotHolder is returned when another process than the one that acquired uses the Lock: a
	// forked child, or a restored copy.
	ErrNotHolder = errors.New("not the process that acquired the lock")
	// ErrChanged is returned by Break when the lock is no longer the one that the caller saw.
	ErrChanged = errors.New("the lock is not the one that was named any more")
	// ErrGateBusy is returned when another process kept the gate, the kernel lock on the fence
	// file, for longer than Options.GateWait, or at all for calls that never wait.
	ErrGateBusy = fence.ErrGateBusy
	// ErrNoKernelLock is returned when the filesystem has no kernel locks and
	// Options.WithoutKernelLock does not accept that.
	ErrNoKernelLock = fmt.Errorf("the filesystem has no kernel locks: %w", errors.ErrUnsupported)
)

// Error says which operation on which lock failed, at which step, on which file, and what can be
// done. It wraps the cause.
type Error struct {
	// acquire, inspect, recover, break, log, list, check, commit, write, release, inherit
	Op      string
	Path    string           // the state path
	Step    string           // what was being done: "create the record"
	Next    string           // what a person can do, "" where nothing is known
	Finding identity.Finding // the verdict, where one was reached
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", e.Op, e.Path)
	if e.Step != "" {
		b.WriteString(e.Step + ": ")
	}
	b.WriteString(e.Err.Error())
	if e.Next != "" {
		b.WriteString(" (next: " + e.Next + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// BusyError says who holds the lock, or why it cannot be said. It matches ErrBusy, and the Err and
// the cause of the context when waiting for the lock ended with it.
type BusyError struct {
	Inspection        // everything that Inspect would say
	Cause      error  // why waiting ended: the context's cause, ErrGateBusy, or nil
	Op         string // acquire, recover, break
}

// Error tells the verdict, who holds the lock since when, and the next step.
func (e *BusyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", e.Op, e.State)
	switch e.Verdict {
	case identity.Free:
		fmt.Fprintf(&b, "free, but not acquired: %v", e.Cause)
		return b.String()
	case identity.Alive:
		b.WriteString("held: ")
	case identity.Unknown:
		b.WriteString("cannot be judged: ")
	case identity.Gone:
		b.WriteString("abandoned, but not taken over: ")
	}
	fmt.Fprintf(&b, "%s [%s, %s]", e.Sentence, e.Verdict, e.Reason)
	if e.Verdict == identity.Unknown && e.Owner == nil && len(e.Evidence) > 0 {
		// what is wrong with the record
		b.WriteString(": " + e.Evidence[len(e.Evidence)-1].Sentence)
	}
	if owner := e.Owner.Description(); owner != "" {
		b.WriteString("; owner: " + owner)
	}
	b.WriteString("; lock " + e.Lock)
	if e.Cause != nil {
		b.WriteString("; gave up: " + e.Cause.Error())
	}
	if e.Next != "" {
		b.WriteString("; next: " + e.Next)
	}
	return b.String()
}

// Is makes every BusyError match ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

func (e *BusyError) Unwrap() error { return e.Cause }

// Kind sorts failures for programs.
type Kind string

// Kinds of failures.
const (
	KindPermission  Kind = "permission"
	KindReadOnly    Kind = "read-only"
	KindNoSpace     Kind = "no-space"
	KindNameTooLong Kind = "name-too-long"
	KindUnsupported Kind = "unsupported"
	KindNotFound    Kind = "not-found"
	KindGateBusy    Kind = "gate-busy"
	KindIO          Kind = "io"

	KindBusy     Kind = "busy"     // ErrBusy, but for a busy gate
	KindFenced   Kind = "fenced"   // ErrFenced
	KindLost     Kind = "lost"     // ErrLost
	KindUnsure   Kind = "unsure"   // ErrUnsure
	KindChanged  Kind = "changed"  // ErrChanged
	KindReleased Kind = "released" // ErrReleased
)

// KindOf returns the kind of a failure, KindIO where nothing better fits, and "" for nil.
func KindOf(err error) Kind {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrGateBusy):
		return KindGateBusy
	case errors.Is(err, ErrBusy):
		return KindBusy
	case errors.Is(err, ErrUnsure):
		return KindUnsure
	case errors.Is(err, ErrFenced):
		return KindFenced
	case errors.Is(err, ErrLost):
		return KindLost
	case errors.Is(err, ErrChanged):
		return KindChanged
	case errors.Is(err, ErrReleased):
		return KindReleased
	case isErrno(err, errReadOnlyFS):
		return KindReadOnly
	case isErrno(err, errNoSpace, errQuota):
		return KindNoSpace
	case isErrno(err, errLongName), errors.Is(err, errNameTooLong):
		return KindNameTooLong
	case errors.Is(err, fs.ErrPermission):
		return KindPermission
	case errors.Is(err, errors.ErrUnsupported):
		return KindUnsupported
	case errors.Is(err, fs.ErrNotExist):
		return KindNotFound
	default:
		return KindIO
	}
}

var errNameTooLong = errors.New("name too long")

func isErrno(err error, codes ...errno) bool {
	if err == nil {
		return false
	}
	got, is := errors.AsType[errno](err)
	return is && slices.Contains(codes, got)
}

// advice returns what a person can do about a failure.
func advice(err error, path string) string {
	switch KindOf(err) {
	case KindPermission:
		if strings.Contains(filepath.Base(path), anyName) {
			return "see who may: " + shell.Raw.List(filepath.Dir(path))
		}
		return "see who may: " + shell.Raw.List(path, filepath.Dir(path))
	case KindReadOnly:
		return "keep the state on a filesystem that is mounted read-write"
	case KindNoSpace:
		return "make room on the filesystem (" + shell.Raw.Space(filepath.Dir(path)) +
			"), then try again"
	case KindNameTooLong:
		return "choose a shorter name"
	case KindGateBusy:
		return "look at the process that holds the gate; if it is stopped, continue it or end it"
	case KindUnsupported:
		return "keep the state on another filesystem; a Go program can accept what is lost " +
			"(Options.WithoutKernelLock)"
	case KindNotFound:
		return "create the directory first"
	}
	if errors.Is(err, vfs.ErrInUse) {
		return "see which program has it open, and end it or wait: " + shell.Raw.Openers(path)
	}
	if errors.Is(err, vfs.ErrNotRegular) || errors.Is(err, fence.ErrDamaged) { // beyond repair
		return "look at what stands there, and move it away"
	}
	if errors.Is(err, fence.ErrTooLarge) {
		state := strings.TrimSuffix(path, fenceSuffix)
		return "no number is left; if you are sure that nothing uses " + shell.Raw.Quote(state) +
			", move its lock, fence and logs away: " + shell.Raw.Quote(state+lockSuffix) + ", " +
			shell.Raw.Quote(state+fenceSuffix) + ", " + shell.Raw.Quote(state+logSuffix) + ", " +
			shell.Raw.Quote(state+oldLogSuffix)
	}
	if isErrno(err, errManyFiles, errAllFiles) {
		return shell.Raw.Files()
	}
	if errors.Is(err, vfs.ErrLinks) {
		return "see where the link leads: " + shell.Raw.List(path)
	}
	if isErrno(err, errTooBig) {
		return shell.Raw.FileSize()
	}
	if isErrno(err, errIO) {
		return "look at the disk (" + shell.Raw.Disk() + "), then try again"
	}
	return ""
}
