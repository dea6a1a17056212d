package ops

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/ended"
)

// Memory is a Store in the memory of one process, for tests: nothing outlives the process.
type Memory struct {
	phases Phases
	judge  func(Stamp) identity.Finding

	mu     sync.Mutex
	ops    []*Operation // in the order in which they began
	byID   map[string]*Operation
	nonces map[string]nonce
}

// NewMemory returns an empty store. Of the options only Judge counts.
func NewMemory(phases Phases, opts Options) (*Memory, error) {
	if err := phases.validate(); err != nil {
		return nil, &Error{Op: "open", Path: "memory", Step: "check the phases",
			Next: advice(ErrInvalid),
			Err:  fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	m := &Memory{phases: phases.clone(), judge: opts.Judge, byID: map[string]*Operation{},
		nonces: map[string]nonce{}}
	if m.judge == nil {
		m.judge = func(s Stamp) identity.Finding { return identity.Judge(s.Process) }
	}
	return m, nil
}

func (m *Memory) failed(op, step, id string, now *Operation, err error) *Error {
	e := &Error{Op: op, Path: "memory", Step: step, ID: id, Next: advice(err), Err: err}
	if now != nil {
		copied := copyOf(*now)
		e.Current = &copied
	}
	return e
}

func (m *Memory) put(op Operation) Operation {
	kept := copyOf(op)
	if old := m.byID[op.ID]; old != nil {
		*old = kept
	} else {
		m.byID[op.ID] = &kept
		m.ops = append(m.ops, &kept)
	}
	return op
}

func (m *Memory) running(environment string) *Operation {
	for _, op := range slices.Backward(m.ops) {
		if op.Environment == environment && !m.phases.terminal(op.Phase) {
			return op
		}
	}
	return nil
}

func stampNow() (Stamp, error) {
	me, err := identity.Current()
	return Stamp{Process: me, At: time.Now().UTC().Truncate(time.Millisecond)}, err
}

// Begin is explained at Folder.
func (m *Memory) Begin(ctx context.Context, r Request) (Operation, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, err := r.check()
	me, noStamp := stampNow()
	if err = errors.Join(err, noStamp, ended.Cause(ctx)); err != nil {
		return Operation{}, false, m.failed("begin", "check the request", r.ID, nil, err)
	}
	if old := m.byID[a.id]; old != nil {
		if err := a.same(old.Environment, old.Digest); err != nil {
			return Operation{}, false, m.failed("begin", "compare with the request", a.id, old, err)
		}
		return copyOf(*old), false, nil
	}
	if now := m.running(a.environment); now != nil {
		return Operation{}, false, m.failed("begin", "look at the environment", a.id, now, ErrBusy)
	}
	return m.put(m.phases.begin(a, me)), true, nil
}

// Get is explained at Folder.
func (m *Memory) Get(id string) (Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := checkText("id", id); err != nil {
		return Operation{}, m.failed("get", "check the id", id, nil, err)
	}
	if op := m.byID[id]; op != nil {
		return copyOf(*op), nil
	}
	return Operation{}, m.failed("get", "look for the operation", id, nil, ErrNotFound)
}

// change runs one change, with the lock held.
func (m *Memory) change(ctx context.Context, name, id string, expected *Revision,
	fn func(op Operation, me Stamp) (Operation, bool, error)) (Operation, error) {
	me, noStamp := stampNow()
	err := errors.Join(checkText("id", id), noStamp, ended.Cause(ctx))
	if err != nil {
		return Operation{}, m.failed(name, "check the arguments", id, nil, err)
	}
	now := m.byID[id]
	switch {
	case now == nil:
		return Operation{}, m.failed(name, "look for the operation", id, nil, ErrNotFound)
	case expected != nil && now.Revision != *expected:
		return Operation{}, m.failed(name, "compare the revision", id, now, ErrStale)
	case m.phases.terminal(now.Phase):
		return Operation{}, m.failed(name, "look at the phase", id, now, ErrFinished)
	}
	op, changed, err := fn(copyOf(*now), me)
	switch {
	case err != nil:
		return Operation{}, m.failed(name, "apply the change", id, now, err)
	case !changed:
		return copyOf(*now), nil
	}
	return m.put(op), nil
}

// CompareAndSwap is explained at Folder.
func (m *Memory) CompareAndSwap(ctx context.Context, id string, expected Revision, c Change) (
	Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := toJSON(c.Data)
	if err != nil {
		err = fmt.Errorf("%w: the data: %w", ErrInvalid, err)
		return Operation{}, m.failed("compare and swap", "check the change", id, nil, err)
	}
	var follow, other *Operation
	op, err := m.change(ctx, "compare and swap", id, &expected,
		func(op Operation, me Stamp) (_ Operation, _ bool, err error) {
			if op, err = m.phases.change(work(op, me, m.judge), c, data, me); err != nil ||
				c.FollowUp == nil {
				return op, true, err
			}
			var a asked
			if a, err = c.FollowUp.follows(op); err == nil {
				if other = m.byID[a.id]; other != nil {
					err = fmt.Errorf("%w: the operation exists", ErrConflict)
				}
			}
			next := m.phases.begin(a, me)
			next.Follows, op.FollowUp, follow = op.ID, a.id, &next
			return op, true, err
		})
	if err == nil && follow != nil {
		m.put(*follow)
	}
	if e, ok := errors.AsType[*Error](err); ok && other != nil {
		now := copyOf(*other)
		e.ID, e.Current = other.ID, &now
	}
	return op, err
}

// RecordOwned is explained at Folder.
func (m *Memory) RecordOwned(ctx context.Context, id string, expected Revision,
	resources ...Resource) (Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.change(ctx, "record", id, &expected, func(op Operation, me Stamp) (Operation, bool,
		error) {
		return own(work(op, me, m.judge), resources, me)
	})
}

// RecordEffects is explained at Folder.
func (m *Memory) RecordEffects(ctx context.Context, id string, expected Revision,
	effects ...Effect) (Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.change(ctx, "record", id, &expected, func(op Operation, me Stamp) (Operation, bool,
		error) {
		return send(work(op, me, m.judge), effects, me)
	})
}

// Accept is explained at Folder.
func (m *Memory) Accept(ctx context.Context, r Receipt) (op Operation, duplicate bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	who := ""
	if r, err = r.check(); err == nil {
		who, err = r.Identity()
	}
	if err != nil {
		return op, false, m.failed("accept", "check the receipt", r.Operation, nil, err)
	}
	this := nonce{Nonce: r.Nonce, Operation: r.Operation, Receipt: who}
	switch old, spent := m.nonces[r.Nonce]; {
	case spent && old != this:
		return op, false, m.failed("accept", "look at the nonce", r.Operation, nil, ErrNonceSpent)
	case spent:
		return copyOf(*m.byID[r.Operation]), true, nil
	}
	op, err = m.change(ctx, "accept", r.Operation, nil,
		func(op Operation, me Stamp) (Operation, bool, error) {
			op, err := accept(op, r, me)
			return op, true, err
		})
	if err == nil {
		m.nonces[r.Nonce] = this
	}
	return op, false, err
}

// Claim is explained at Folder.
func (m *Memory) Claim(ctx context.Context, id string, expected Revision, t Takeover) (
	Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found identity.Finding
	op, err := m.change(ctx, "claim", id, &expected,
		func(op Operation, me Stamp) (_ Operation, changed bool, err error) {
			op, changed, found, err = claim(op, t, me, m.judge)
			return op, changed, err
		})
	if e, ok := errors.AsType[*Error](err); ok {
		e.Finding = found
	}
	return op, err
}

// Recoverable is explained at Folder.
func (m *Memory) Recoverable() iter.Seq2[Recovery, error] {
	return func(yield func(Recovery, error) bool) {
		for op := range m.All() {
			if !m.phases.terminal(op.Phase) && !yield(recovery(op, m.judge), nil) {
				return
			}
		}
	}
}

// All is explained at Folder.
func (m *Memory) All() iter.Seq2[Operation, error] { return m.list(false) }

// Archived is explained at Folder.
func (m *Memory) Archived() iter.Seq2[Operation, error] { return m.list(true) }

func (m *Memory) list(archived bool) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		m.mu.Lock()
		var all []Operation
		for _, op := range m.ops {
			if op.Archived == archived {
				all = append(all, copyOf(*op))
			}
		}
		m.mu.Unlock()
		for _, op := range all {
			if !yield(op, nil) {
				return
			}
		}
	}
}

// ArchiveFinished is explained at Folder.
func (m *Memory) ArchiveFinished(ctx context.Context, environments ...string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var put []*Operation
	for _, op := range m.ops {
		if len(environments) > 0 && !slices.Contains(environments, op.Environment) {
			continue
		}
		if !m.phases.terminal(op.Phase) {
			return 0, m.failed("archive", "look at the environment", op.ID, op, ErrBusy)
		}
		if !op.Archived {
			put = append(put, op)
		}
	}
	if err := ended.Cause(ctx); err != nil {
		return 0, m.failed("archive", "put operations away", "", nil, err)
	}
	for _, op := range put {
		op.Archived = true
	}
	return len(put), nil
}
