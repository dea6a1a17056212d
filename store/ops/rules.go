package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// What a method does to an operation, without any I/O. Every function works on a copy.

// asked is a request whose fields have been checked.
type asked struct {
	id, environment, digest string
	data                    json.RawMessage
}

func (r Request) check() (asked, error) {
	a := asked{id: r.ID, environment: r.Environment, digest: r.Digest}
	if err := errors.Join(checkText("id of the request", r.ID),
		checkText("environment", r.Environment)); err != nil {
		return a, err
	}
	var err error
	if a.data, err = toJSON(r.Data); err != nil {
		return a, fmt.Errorf("%w: the data: %w", ErrInvalid, err)
	}
	if a.digest == "" {
		if a.digest, err = Digest(a.data); err != nil {
			return a, err
		}
	}
	return a, checkText("digest", a.digest)
}

// follows checks a request that follows up op.
func (r Request) follows(op Operation) (asked, error) {
	if r.Environment == "" {
		r.Environment = op.Environment
	}
	a, err := r.check()
	if err == nil && a.environment != op.Environment {
		err = fmt.Errorf("%w: a follow-up is in the same environment", ErrInvalid)
	}
	return a, err
}

// same says whether what exists under the id is what is asked for.
func (a asked) same(environment, digest string) error {
	switch {
	case environment != a.environment:
		return fmt.Errorf("%w: this request id was used for environment %q", ErrConflict,
			environment)
	case digest != a.digest:
		return fmt.Errorf("%w: this request id was used with digest %.80q", ErrConflict, digest)
	}
	return nil
}

func (p Phases) begin(a asked, me Stamp) Operation {
	return Operation{ID: a.id, Environment: a.environment, Digest: a.digest, Phase: p.Initial,
		Revision: 1, Data: a.data, Owner: me, Writer: me, CreatedAt: me.At, UpdatedAt: me.At}
}

func copyOf(op Operation) Operation {
	op.Data = slices.Clone(op.Data)
	op.Owned, op.Effects = slices.Clone(op.Owned), slices.Clone(op.Effects)
	for i := range op.Owned {
		op.Owned[i].Data = slices.Clone(op.Owned[i].Data)
	}
	op.Receipts = slices.Clone(op.Receipts)
	for i := range op.Receipts {
		op.Receipts[i].Outcome = slices.Clone(op.Receipts[i].Outcome)
	}
	op.Claims, op.Others = slices.Clone(op.Claims), slices.Clone(op.Others)
	return op
}

// next is the operation at its next revision, before what changes.
func next(op Operation, me Stamp) Operation {
	op = copyOf(op)
	op.Revision++
	if op.Restored != "" {
		op.Revision++ // the one that is lost had that number, and somebody may know it
	}
	op.Writer, op.UpdatedAt = me, me.At
	op.Archived, op.Restored = false, ""
	return op
}

func (p Phases) change(op Operation, c Change, data json.RawMessage, me Stamp) (Operation, error) {
	to := c.Phase
	if to == "" {
		to = op.Phase
	}
	switch {
	case !p.declared(op.Phase):
		return op, fmt.Errorf("%w: its phase %q is not declared", ErrPhase, op.Phase)
	case !p.declared(to):
		return op, fmt.Errorf("%w: phase %q is not declared", ErrPhase, to)
	case !p.allowed(op.Phase, to):
		return op, fmt.Errorf("%w: %q may not follow %q", ErrPhase, to, op.Phase)
	case c.FollowUp != nil && !p.terminal(to):
		return op, fmt.Errorf("%w: a follow-up begins when phase is terminal, and %q is not",
			ErrPhase, to)
	}
	op = next(op, me)
	op.Phase = to
	if data != nil {
		op.Data = data
	}
	return op, nil
}

func own(op Operation, add []Resource, me Stamp) (_ Operation, changed bool, err error) {
	op = next(op, me)
	for _, r := range add {
		if err := errors.Join(checkText("kind", r.Kind), checkText("name", r.Name)); err != nil {
			return op, false, err
		}
		if r.Data, err = compact(r.Data); err != nil {
			return op, false, err
		}
		i := slices.IndexFunc(op.Owned, func(o Resource) bool {
			return o.Kind == r.Kind && o.Name == r.Name
		})
		switch {
		case i < 0:
			op.Owned, changed = append(op.Owned, r), true
		case !bytes.Equal(op.Owned[i].Data, r.Data):
			return op, false, fmt.Errorf("%w: %s %q is recorded with other data", ErrConflict,
				r.Kind,
				r.Name)
		}
	}
	return op, changed, nil
}

func send(op Operation, add []Effect, me Stamp) (_ Operation, changed bool, err error) {
	op = next(op, me)
	for _, e := range add {
		if err := e.check(); err != nil {
			return op, false, err
		}
		switch old, ok := op.Effect(e.Key); {
		case !ok:
			op.Effects, changed = append(op.Effects, e), true
		case old != e:
			return op, false,
				fmt.Errorf("%w: effect %q is recorded with another request or endpoint",
					ErrConflict, e.Key)
		}
	}
	return op, changed, nil
}

func (r Receipt) check() (Receipt, error) {
	err := errors.Join(checkText("nonce", r.Nonce), checkText("operation", r.Operation))
	if r.Effect != "" {
		err = errors.Join(err, checkText("effect", r.Effect))
	}
	if err != nil {
		return r, err
	}
	if r.Outcome, err = compact(r.Outcome); err != nil {
		return r, err
	}
	if cut := len(r.LogTail) - MaxLogTail; cut > 0 {
		for cut < len(r.LogTail) && !utf8.RuneStart(r.LogTail[cut]) {
			cut++
		}
		r.LogTail = r.LogTail[cut:]
	}
	r.LogTail = string(bytes.ToValidUTF8([]byte(r.LogTail), []byte("\ufffd")))
	return r, nil
}

// Identity returns what makes two receipts the same: a digest of everything but LogTail.
func (r Receipt) Identity() (string, error) {
	r.LogTail = ""
	return Digest(r)
}

func accept(op Operation, r Receipt, me Stamp) (Operation, error) {
	if r.Effect != "" {
		if _, ok := op.Effect(r.Effect); !ok {
			return op, fmt.Errorf("%w: the receipt answers effect %q, which is not recorded",
				ErrInvalid,
				r.Effect)
		}
	}
	op = next(op, me)
	op.Receipts = append(op.Receipts, r)
	return op, nil
}

func (o Operation) receipt(nonce string) (Receipt, bool) {
	for _, r := range o.Receipts {
		if r.Nonce == nonce {
			return r, true
		}
	}
	return Receipt{}, false
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	data, err := toJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the data: %w", ErrInvalid, err)
	}
	return data, nil
}
