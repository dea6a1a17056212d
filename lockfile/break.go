package lockfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/internal/vfs"
)

// BreakRequest is what a person takes responsibility for.
type BreakRequest struct {
	LockID      string // the tenure that the person saw: Inspection.LockID
	Reason      string // why, for the log; there must be a letter or a digit in it
	By          string // who, for the log; the user's number when empty
	EvenIfAlive bool   // also when the owner lives
}

// Broken tells of a lock that was broken. Its Finding is what was known when it was.
type Broken struct {
	Recovered
	Saved   string `json:"saved,omitempty"`   // where a record that could not be read was kept
	Warning string `json:"warning,omitempty"` // what nothing protects from
}

// Break takes the lock away from whoever holds it, on a person's word, logs it, and leaves the lock
// free. A holder that lives is refused from then on (ErrFenced) when it commits through this
// package.
//
// On Windows nobody can remove the record of an owner that has it open. There the owner that lives
// is refused from the moment of the break too, and its own process removes the record when it
// notices, within about 200 ms. Break waits for that, at most Options.GateWait; when it gives up,
// the error names the process to end.
//
// ErrChanged says that the lock is not the one that the request names any more; a *BusyError that
// its owner lives and the request does not say EvenIfAlive. Then nothing was changed. An error that
// comes with a *Broken says that the lock was taken away, but is not free yet: a goroutine frees it
// as soon as it can.
func Break(ctx context.Context, path string, req BreakRequest, opts Options) (*Broken, error) {
	const op = "break"
	if !nextstep.IsReason(req.Reason) {
		return nil, &Error{Op: op, Path: path, Step: "check the request",
			Err: fmt.Errorf("BreakRequest.Reason %q does not say why: no letter, no digit",
				req.Reason)}
	}
	p, err := openPlaceToChange(op, path, &opts)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if req.By == "" {
		req.By = thisUser()
	}
	// Without the gate first: a mistyped request must leave no trace.
	if _, err := p.lookToBreak(req); err != nil {
		return nil, err
	}
	gate, err := p.holdGate(ctx, op)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	s, err := p.lookToBreak(req)
	if err != nil {
		return nil, err
	}
	if vfs.OwnerKeeps() && s.locked == identity.LockHeld {
		return p.breakKept(ctx, gate, s, req)
	}
	lock, err := p.takeover(gate, takeoverRequest{op: op, event: EventBreak, judged: s,
		reason: req.Reason, by: req.By})
	if errors.Is(err, errMoved) {
		return nil, &Error{Op: op, Path: p.state(), Step: "compare the lock", Finding: s.finding,
			Next: "look again: probate inspect " + shell.Raw.Operand(p.state()),
			Err:  fmt.Errorf("%w: it changed while it was being broken", ErrChanged)}
	}
	if err != nil {
		return nil, err
	}
	broken := &Broken{Recovered: *lock.recovered, Saved: lock.saved, Warning: warning(s)}
	return broken, lock.giveUp(gate)
}

// lookToBreak returns what stands there, if it is what the request names and may break.
func (p *place) lookToBreak(req BreakRequest) (sighting, error) {
	const op = "break"
	s, err := p.look()
	if err != nil {
		return s, p.failed(op, "look at the record", p.lockName(), err)
	}
	switch {
	case s.free():
		return s, &Error{Op: op, Path: p.state(), Step: "compare the lock", Finding: s.finding,
			Next: "look again: probate inspect " + shell.Raw.Operand(p.state()),
			Err:  fmt.Errorf("%w: it is free", ErrChanged)}
	case s.lockID != req.LockID && s.flaw.unread():
		return s, p.failed(op, "read the record", p.lockName(), s.flaw.detail)
	case s.lockID != req.LockID:
		return s, &Error{Op: op, Path: p.state(), Step: "compare the lock", Finding: s.finding,
			Next: "look again: probate inspect " + shell.Raw.Operand(p.state()),
			Err:  fmt.Errorf("%w: named was %q, it is %s now", ErrChanged, req.LockID, s.lockID)}
	case s.finding.Verdict == identity.Alive && !req.EvenIfAlive:
		return s, p.busy(op, s, nil)
	}
	return s, nil
}

// warning says what a break cannot protect from.
func warning(s sighting) string {
	switch {
	case s.finding.Verdict == identity.Gone:
		return ""
	case s.record != nil && s.record.Proof == nil:
		return "the owner is a record-v2 program that does not use the gate: " +
			"if it lives, nothing keeps it from writing"
	case s.record == nil:
		return "nothing is known of the owner: if it lives, nothing keeps it from writing"
	default:
		return "if the owner lives, its commits through this toolkit are refused from now on; " +
			"nothing keeps it from writing in another way"
	}
}
