package ops

import (
	"context"
	"errors"
	"fmt"
)

// Begin returns the operation of a request, and whether this call has begun it. The same request
// again, by id and digest, returns the operation that it began, however far that is by now,
// finished and archived ones too.
//
// ErrConflict says that the id was used for another request; ErrBusy that the environment has
// another unfinished operation. Then nothing was changed. After any other error the operation may
// have begun: ask again. What Begin costs does not depend on how many operations there are.
func (f *Folder) Begin(ctx context.Context, r Request) (Operation, bool, error) {
	const op = "begin"
	a, err := r.check()
	if err != nil {
		return Operation{}, false, &Error{Op: op, Path: f.dir, Step: "check the request", ID: r.ID,
			Next: advice(err), Err: err}
	}
	v, err := f.look(op)
	if err != nil {
		return Operation{}, false, err
	}
	defer v.close()
	got, err := v.again(a)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return got, false, err
	}
	begun := false
	err = f.locked(ctx, op, func(w *writer) error {
		var err error
		got, begun, err = w.begin(a)
		return err
	})
	return got, begun, err
}

// again returns the operation that the same request began before.
func (v *view) again(a asked) (Operation, error) {
	at, err := v.find(a.id, a.environment)
	if err != nil {
		return Operation{}, err
	}
	if err := a.same(at.op.Environment, at.op.Digest); err != nil {
		return Operation{}, v.refused("compare with the request", at, "", err)
	}
	return at.operation(), nil
}

func (w *writer) begin(a asked) (Operation, bool, error) {
	if got, err := w.again(a); err == nil || !errors.Is(err, ErrNotFound) {
		return got, false, err
	}
	s, err := w.slot(slotFile(a.environment))
	if err != nil {
		return Operation{}, false, err
	}
	if now, ok := s.current(); ok && !w.f.phases.terminal(now.op.Phase) {
		return Operation{}, false, w.refused("look at the environment", now,
			"finish that operation first, or claim it if its process is gone", ErrBusy)
	}
	more, err := w.bindRequest(a)
	if err != nil {
		return Operation{}, false, err
	}
	me, err := w.stamp()
	if err != nil {
		return Operation{}, false, err
	}
	made := w.f.phases.begin(a, me)
	if err := w.give(&s, made, more...); err != nil {
		return Operation{}, false, err
	}
	return made, true, nil
}

// bindRequest prepares the file that binds the request id, unless it is bound to this request.
func (w *writer) bindRequest(a asked) ([]func() error, error) {
	switch r, err := w.request(a.id); {
	case err == nil: // a crash came between it and the operation
		if err := a.same(r.Environment, r.Digest); err != nil {
			return nil, w.failed("compare with the request", requestFile(a.id), a.id, err)
		}
		return nil, nil
	case err != ErrNotFound:
		return nil, err
	}
	place, err := bind(w, kindRequest, dirRequests, requestFile(a.id), a.id,
		request{ID: a.id, Environment: a.environment, Digest: a.digest})
	return []func() error{place}, err
}

// Get returns an operation by the id of its request. It takes no lock and changes nothing.
func (f *Folder) Get(id string) (Operation, error) {
	v, err := f.look("get")
	if err != nil {
		return Operation{}, err
	}
	defer v.close()
	at, err := v.get(id)
	if err != nil {
		return Operation{}, err
	}
	return at.operation(), nil
}

func (v *view) get(id string) (located, error) {
	if err := checkText("id", id); err != nil {
		return located{}, v.failed("check the id", ".", id, err)
	}
	at, err := v.find(id, "")
	if err == ErrNotFound {
		err = v.failed("look for the operation", ".", id, err)
	}
	return at, err
}

// change runs one change of an unfinished operation that is at the expected revision.
func (f *Folder) change(ctx context.Context, op, id string, expected Revision,
	fn func(w *writer, at located, me Stamp) (Operation, error)) (got Operation, err error) {
	err = f.locked(ctx, op, func(w *writer) error {
		at, err := w.get(id)
		if err == nil {
			at, err = w.unfinished(at, &expected)
		}
		if err != nil {
			return err
		}
		me, err := w.stamp()
		if err != nil {
			return err
		}
		got, err = fn(w, at, me)
		return err
	})
	return got, err
}

// unfinished returns where an operation stands that can be changed, at that revision where one is
// given.
func (w *writer) unfinished(at located, expected *Revision) (located, error) {
	switch {
	case expected != nil && at.op.Revision != *expected:
		return at, w.refused("compare the revision", at, "", fmt.Errorf(
			"%w: it is at revision %d, not %d", ErrStale, at.op.Revision, *expected))
	case at.dir != "" || w.f.phases.terminal(at.op.Phase):
		return at, w.refused("look at the phase", at, "", ErrFinished)
	case !at.next:
		return at, nil
	}
	if err := w.settle(at.slot); err != nil {
		return at, err
	}
	at, err := w.get(at.op.ID)
	if err != nil {
		return at, err
	}
	return w.unfinished(at, expected)
}

func (w *writer) write(at located, op Operation, follow *Operation, more ...func() error) error {
	return w.replace(at.slot, &stored{Operation: op, Next: follow}, more...)
}

// CompareAndSwap changes an operation that is at the expected revision, and returns what it is
// then, at a greater one. Of any number of callers that expect the same revision at most one
// succeeds.
//
// ErrStale (with Error.Current), ErrFinished, ErrPhase, and for a follow-up ErrConflict say that
// nothing was changed. After lockfile.ErrUnsure, or a failure to release the lock, it may have
// been: read the operation again.
func (f *Folder) CompareAndSwap(ctx context.Context, id string, expected Revision, c Change) (
	Operation, error) {
	const op = "compare and swap"
	invalid := func(err error) (Operation, error) {
		return Operation{}, &Error{Op: op, Path: f.dir, Step: "check the change", ID: id,
			Next: advice(err), Err: err}
	}
	data, err := toJSON(c.Data)
	if err != nil {
		return invalid(fmt.Errorf("%w: the data: %w", ErrInvalid, err))
	}
	return f.change(ctx, op, id, expected, func(w *writer, at located, me Stamp) (Operation,
		error) {
		changed, err := f.phases.change(work(at.operation(), me, f.judge), c, data, me)
		if err != nil {
			return Operation{}, w.refused("check the phase", at, "", err)
		}
		if c.FollowUp == nil {
			return changed, w.write(at, changed, nil)
		}
		return w.follow(at, changed, *c.FollowUp)
	})
}

// follow finishes an operation and begins its follow-up: the version that finishes it holds the
// other one, complete.
func (w *writer) follow(at located, op Operation, r Request) (Operation, error) {
	a, err := r.follows(op)
	if err != nil {
		return Operation{}, w.failed("check the follow-up", ".", r.ID, err)
	}
	other, err := w.find(a.id, a.environment)
	if err == nil {
		return Operation{}, w.refused("look for the follow-up", other, "",
			fmt.Errorf("%w: the operation exists", ErrConflict))
	}
	if err != ErrNotFound {
		return Operation{}, err
	}
	more, err := w.bindRequest(a)
	if err != nil {
		return Operation{}, err
	}
	follow := w.f.phases.begin(a, op.Writer)
	follow.Follows, op.FollowUp = op.ID, a.id
	if err := w.write(at, op, &follow, more...); err != nil {
		return Operation{}, err
	}
	s, err := w.slot(at.slot.file)
	if err != nil {
		return op, err
	}
	return op, w.settle(&s)
}

// RecordOwned records what an operation is about to make, durably, before it is made: call it
// first, and make the resource when it has returned. It only ever adds. A resource that is recorded
// already is left as it is, and changes nothing; with other data it is ErrConflict. Other errors
// are those of CompareAndSwap.
func (f *Folder) RecordOwned(ctx context.Context, id string, expected Revision,
	resources ...Resource) (Operation, error) {
	return f.add(ctx, id, expected, func(op Operation, me Stamp) (Operation, bool, error) {
		return own(op, resources, me)
	})
}

// RecordEffects records what an operation is about to send, as RecordOwned does. Whether an effect
// that was recorded may be sent again is for Operation.MayRetry to say.
func (f *Folder) RecordEffects(ctx context.Context, id string, expected Revision,
	effects ...Effect) (Operation, error) {
	return f.add(ctx, id, expected, func(op Operation, me Stamp) (Operation, bool, error) {
		return send(op, effects, me)
	})
}

func (f *Folder) add(ctx context.Context, id string, expected Revision,
	rule func(Operation, Stamp) (Operation, bool, error)) (Operation, error) {
	return f.change(ctx, "record", id, expected,
		func(w *writer, at located, me Stamp) (Operation, error) {
			op, changed, err := rule(work(at.operation(), me, f.judge), me)
			switch {
			case err != nil:
				return Operation{}, w.refused("compare with what is recorded", at, "", err)
			case !changed:
				return at.operation(), nil
			}
			return op, w.write(at, op, nil)
		})
}

// Claim makes this process the owner of an unfinished operation whose process is provably gone, so
// that one of several that recover works on it. It is judged again under the lock. An operation
// that this process owns is returned as it is.
//
// ErrHeld says that its process lives, or that nothing can be proven (Error.Finding); a person can
// take responsibility with a Takeover. Other errors are those of CompareAndSwap.
func (f *Folder) Claim(ctx context.Context, id string, expected Revision, t Takeover) (
	Operation, error) {
	return f.change(ctx, "claim", id, expected,
		func(w *writer, at located, me Stamp) (Operation, error) {
			op, changed, found, err := claim(at.operation(), t, me, f.judge)
			switch {
			case err != nil:
				e := w.refused("judge its process", at,
					"wait until its process has ended; or, if a "+
						"person knows that it does nothing any more, claim it with a Takeover", err)
				e.Finding = found
				return Operation{}, e
			case !changed:
				return op, nil
			}
			return op, w.write(at, op, nil)
		})
}
