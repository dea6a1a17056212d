package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
)

// usageError is a command line that means nothing.
type usageError struct {
	what, verb string
	next       string // instead of the help
}

func (e *usageError) Error() string { return e.what }

func (e *usageError) hint() string {
	if e.next != "" {
		return e.next
	}
	switch e.verb {
	case "", "probate":
		return "probate --help"
	}
	return "probate " + e.verb + " --help"
}

// codeError ends the program with a code. Without an error inside, everything has been said
// already.
type codeError struct {
	code int
	kind string
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// exitWith is a codeError that says nothing more, or nil for 0.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &codeError{code: code}
}

// unheard is a result that could not be told, of something that was done.
type unheard struct {
	done, state string
	err         error
}

func (e *unheard) Error() string {
	return fmt.Sprintf("write to standard output: %v (%s)", e.err, e.done)
}

func (e *unheard) Unwrap() error { return e.err }

// noted adds to an error of the library what became of the state.
func noted(err error, note string) error {
	failed, ok := errors.AsType[*lockfile.Error](err)
	if !ok {
		return err
	}
	said := *failed
	said.Err = fmt.Errorf("%w (%s)", failed.Err, note)
	return &said
}

// refusal is a busy lock, told about in the words that the user typed.
type refusal struct {
	state string // as typed
	in    lockfile.Inspection
	head  string   // instead of the headline of the verdict
	next  []string // instead of the next step of the verdict
	code  int
	err   error
}

func (e *refusal) Error() string { return e.err.Error() }
func (e *refusal) Unwrap() error { return e.err }

// refused turns a *lockfile.BusyError into a refusal of the state as it was typed; other errors
// pass.
func refused(state string, err error) error {
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	if !ok {
		return err
	}
	r := &refusal{state: state, in: busy.Inspection, code: exitHeld, err: err}
	ended := errors.Is(busy.Cause, context.DeadlineExceeded) ||
		errors.Is(busy.Cause, context.Canceled)
	switch {
	case errors.Is(busy.Cause, lockfile.ErrGateBusy):
		// Somebody alive is in the gate, whatever the record says.
		r.head = "busy: a process is in the gate, taking the lock over, committing or releasing"
		r.next = []string{"try again; if it stays busy, look for a stopped process: " +
			shell.Here.Openers(strings.TrimSuffix(busy.Lock, ".lock")+".fence")}
	case busy.Verdict == identity.Unknown:
		r.code = exitUnknown
	case busy.Verdict == identity.Alive:
	case ended:
		r.head = "busy: it went from one to the next, and the time was up"
		r.next = []string{"try again: probate inspect " + operand(state)}
	case busy.Verdict == identity.Gone:
		r.code = exitGone
		r.head = "abandoned, but not taken over"
		r.next = []string{"see what this machine says about itself: probate probe"}
		if busy.Cause != nil {
			r.head += ": " + busy.Cause.Error()
		}
		if os.Getenv("PROBATE_RECOVERY") == "off" {
			r.next = nil // that of the verdict
		}
	}
	return r
}

// failure is the JSON form of an error.
type failure struct {
	State      string               `json:"state,omitempty"` // only where it stands for a result
	Error      string               `json:"error"`
	Kind       string               `json:"kind"`
	Code       int                  `json:"code"`
	Path       string               `json:"path,omitempty"`
	Step       string               `json:"step,omitempty"`
	Next       string               `json:"next,omitempty"`
	Verdict    string               `json:"verdict,omitempty"`
	Reason     identity.Reason      `json:"reason,omitempty"`
	Inspection *lockfile.Inspection `json:"inspection,omitempty"`
}

// explain sorts an error: code, kind, and what there is to tell.
func explain(err error) failure {
	f := failure{Error: err.Error(), Code: exitFailure, Kind: string(lockfile.KindOf(err))}
	if le, ok := errors.AsType[*lockfile.Error](err); ok {
		f.Path, f.Step, f.Next = le.Path, le.Step, le.Next
		if le.Finding.Reason != "" {
			f.Verdict, f.Reason = le.Finding.Verdict.String(), le.Finding.Reason
		}
		if top, ok := err.(*lockfile.Error); ok {
			bare := *top
			bare.Next = ""
			f.Error = bare.Error()
		}
	} else if pe, ok := errors.AsType[*fs.PathError](err); ok {
		f.Path, f.Step = pe.Path, pe.Op
	}
	if f.Next == "" && isOutOfFiles(err) {
		f.Next = shell.Here.Files()
	}
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok {
		f.Kind, f.Path, f.Next = "busy", busy.Lock, busy.Next
		f.Verdict, f.Reason, f.Inspection = busy.Verdict.String(), busy.Reason, &busy.Inspection
		if errors.Is(busy.Cause, lockfile.ErrGateBusy) {
			f.Kind = string(lockfile.KindGateBusy)
		}
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		f.Code, f.Inspection = r.code, &r.in
		f.Kind, f.Path = "busy", r.in.Lock
		f.Verdict, f.Reason = r.in.Verdict.String(), r.in.Reason
		f.Next = strings.Join(nextSteps(r.in, r.state), " ")
		if r.next != nil {
			f.Next = strings.Join(r.next, " ")
		}
	}
	if ue, ok := errors.AsType[*unheard](err); ok {
		f.Next = "do not do it again for that; what stands there: " + shell.Here.List(ue.state)
	}
	switch ue, usage := errors.AsType[*usageError](err); {
	case usage:
		f.Code, f.Kind, f.Next = exitUsage, "usage", ue.hint()
	case errors.Is(err, lockfile.ErrUnsure):
		f.Code, f.Kind = exitUnsure, "unsure"
	case errors.Is(err, lockfile.ErrFenced):
		f.Code, f.Kind = exitFenced, "fenced"
	case errors.Is(err, lockfile.ErrLost):
		f.Code, f.Kind = exitLost, "lost"
	case errors.Is(err, lockfile.ErrChanged):
		f.Code, f.Kind = exitChanged, "changed"
	}
	if ce, ok := errors.AsType[*codeError](err); ok {
		f.Code = ce.code
		if ce.kind != "" {
			f.Kind = ce.kind
		}
	}
	return f
}

// finish says what went wrong, where that has not been said, and returns the exit code.
func (a *app) finish(err error) int {
	if a.out.err != nil && (err == nil || isBare(err)) {
		err = fmt.Errorf("write to standard output: %w", a.out.err)
	}
	if err == nil {
		return exitOK
	}
	if isBare(err) {
		return err.(*codeError).code
	}
	f := explain(err)
	a.complain(err, f)
	return f.Code
}

// isBare reports whether err is an exit code of which everything has been said.
func isBare(err error) bool {
	ce, ok := err.(*codeError)
	return ok && ce.err == nil
}

// complain tells an error on standard error.
func (a *app) complain(err error, f failure) {
	if a.json {
		writeJSON(a.err, f)
		return
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		fmt.Fprint(a.err, "probate: ")
		a.describe(a.err, r.in, view{state: r.state, head: r.head, next: r.next, lock: true})
		return
	}
	fmt.Fprintf(a.err, "probate: %s\n", escape(f.Error))
	if f.Next != "" {
		fmt.Fprintf(a.err, "  next  %s\n", escape(f.Next))
	}
}

// also tells of a release that failed after something else did. That the lock is lost has been
// said.
func (a *app) also(released error) {
	if released != nil && !errors.Is(released, lockfile.ErrLost) {
		a.complain(released, explain(released))
	}
}

// userName returns who runs this, for the log; "" leaves it to the library. A person behind sudo is
// named too.
func userName() string {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if sudo := os.Getenv("SUDO_USER"); sudo != "" {
		name = strings.TrimSpace(name + " (sudo by " + sudo + ")")
	}
	return name
}
