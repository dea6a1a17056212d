//lint:file-ignore ST1005 the messages begin with the names of methods

package opstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/probate-dev/probate/store/ops"
)

func swap(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	seen := []ops.Revision{op.Revision}
	for n := range 5 {
		if op, err = s.swapped(op, ops.Change{Data: n}); err != nil {
			return err
		}
		for _, old := range append(slices.Clone(seen), 0, op.Revision+1, op.Revision+100) {
			what := fmt.Sprintf("CompareAndSwap from %d at %d", old, op.Revision)
			_, err := s.CompareAndSwap(ctx, "r", old, ops.Change{Data: "lost"})
			if err := refused(what, err, ops.ErrStale, op.Revision); err != nil {
				return err
			}
			_, err = s.RecordOwned(ctx, "r", old, ops.Resource{Kind: "k", Name: "n"})
			if err := refused("RecordOwned, "+what, err, ops.ErrStale, op.Revision); err != nil {
				return err
			}
		}
		seen = append(seen, op.Revision)
	}
	_, err = s.CompareAndSwap(ctx, "nobody", 1, ops.Change{Data: 1})
	return errors.Join(refused("CompareAndSwap of nothing", err, ops.ErrNotFound, 0), s.is(op))
}

func phases(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	for _, to := range []ops.Phase{"applied", "failed", "unheard of", "Applying"} {
		_, err := s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Phase: to})
		if err := refused(fmt.Sprintf("from planned to %q", to), err, ops.ErrPhase,
			op.Revision); err != nil {
			return err
		}
	}
	if op, err = s.swapped(op, ops.Change{Phase: "applying"}); err != nil {
		return err
	}
	if op, err = s.swapped(op, ops.Change{Phase: "applying", Data: 1}); err != nil {
		return fmt.Errorf("to keep the phase: %w", err)
	}
	_, err = s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Phase: "planned"})
	if err := refused("back to planned", err, ops.ErrPhase, op.Revision); err != nil {
		return err
	}
	if op, err = s.swapped(op, ops.Change{Phase: "failed", Data: "why"}); err != nil {
		return err
	}
	for what, change := range map[string]func() error{
		"swap": func() error {
			_, err := s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Data: 2})
			return err
		},
		"own": func() error {
			_, err := s.RecordOwned(ctx, "r", op.Revision, ops.Resource{Kind: "k", Name: "n"})
			return err
		},
		"claim": func() error {
			_, err := s.Claim(ctx, "r", op.Revision, ops.Takeover{Reason: "r", EvenAlive: true})
			return err
		},
		"accept": func() error {
			_, _, err := s.Accept(ctx, ops.Receipt{Nonce: "late", Operation: "r"})
			return err
		},
	} {
		err := refused(what+" when it is finished", change(), ops.ErrFinished, op.Revision)
		if err := errors.Join(err, s.is(op)); err != nil {
			return err
		}
	}
	other, err := s.begun("r2", "e")
	if err != nil {
		return fmt.Errorf("when the first has failed: %w", err)
	}
	// the nonce of the refused receipt is not spent
	_, duplicate, err := s.Accept(ctx, ops.Receipt{Nonce: "late", Operation: other.ID})
	if err != nil || duplicate {
		return fmt.Errorf("the nonce of a receipt that was refused: duplicate %v, %v", duplicate,
			err)
	}
	return nil
}

func own(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	disk := ops.Resource{Kind: "disk", Name: "d", Data: json.RawMessage(`{"size":1}`)}
	ip := ops.Resource{Kind: "ip", Name: "d"}
	add := func(want []ops.Resource, grows bool, resources ...ops.Resource) error {
		now, err := s.RecordOwned(ctx, "r", op.Revision, resources...)
		if err != nil {
			return fmt.Errorf("RecordOwned(%v): %w", resources, err)
		}
		if (now.Revision > op.Revision) != grows || now.Revision < op.Revision ||
			!sameList(now.Owned, want) {
			return fmt.Errorf("RecordOwned(%v): %v at %d after %d", resources, now.Owned,
				now.Revision,
				op.Revision)
		}
		op = now
		return s.is(op)
	}
	if err := errors.Join(add([]ops.Resource{disk}, true, disk), add([]ops.Resource{disk}, false,
		disk),
		add([]ops.Resource{disk, ip}, true, disk, ip), add([]ops.Resource{disk, ip},
			false)); err != nil {
		return err
	}
	_, err = s.RecordOwned(ctx, "r", op.Revision, ops.Resource{Kind: "new", Name: "n"},
		ops.Resource{Kind: "disk", Name: "d", Data: json.RawMessage(`{"size":2}`)})
	if err := refused("the same resource with other data", err, ops.ErrConflict,
		op.Revision); err != nil {
		return err
	}
	if err := s.is(op); err != nil {
		return err
	}
	if op, err = s.finish(op); err != nil || len(op.Owned) != 2 {
		return fmt.Errorf("a change of phase forgot a resource: %v, %w", op.Owned, err)
	}
	return nil
}

func effects(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	pay := ops.Effect{Key: "pay", Digest: "d", Endpoint: "bank"}
	first, err := s.RecordEffects(ctx, "r", op.Revision, pay)
	if err != nil || first.Revision <= op.Revision || !sameList(first.Effects, []ops.Effect{pay}) {
		return fmt.Errorf("RecordEffects: %+v, %w", first, err)
	}
	again, err := s.RecordEffects(ctx, "r", first.Revision, pay)
	if err != nil || again.Revision != first.Revision {
		return fmt.Errorf("RecordEffects again: %+v, %w", again, err)
	}
	for _, other := range []ops.Effect{{Key: "pay", Digest: "x", Endpoint: "bank"},
		{Key: "pay", Digest: "d", Endpoint: "x"}} {
		_, err := s.RecordEffects(ctx, "r", first.Revision, other)
		if err := refused("the same key otherwise", err, ops.ErrConflict,
			first.Revision); err != nil {
			return err
		}
	}
	answered, _, err := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r", Effect: "pay"})
	if err != nil || len(answered.Receipts) != 1 {
		return fmt.Errorf("a receipt for the effect: %+v, %w", answered, err)
	}
	return s.is(answered)
}

func receipts(s *store) error {
	if _, err := s.begun("other", "other"); err != nil {
		return err
	}
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	r := ops.Receipt{Nonce: "n", Operation: "r", Outcome: json.RawMessage(`{"ok":true}`),
		LogTail: "one"}
	now, duplicate, err := s.Accept(ctx, r)
	if err != nil || duplicate || now.Revision <= op.Revision || !sameList(now.Receipts,
		[]ops.Receipt{r}) {
		return fmt.Errorf("Accept: %+v, duplicate %v, %w", now, duplicate, err)
	}
	if err := s.is(now); err != nil {
		return err
	}
	same := func() error {
		for _, tail := range []string{"one", "", "another tail"} {
			again := r
			again.LogTail = tail
			got, duplicate, err := s.Accept(ctx, again)
			if err != nil || !duplicate {
				return fmt.Errorf("the same receipt with tail %q: duplicate %v, %w", tail,
					duplicate, err)
			}
			if err := equal("the same receipt", got, now); err != nil {
				return err
			}
		}
		return nil
	}
	if err := same(); err != nil {
		return err
	}
	for what, other := range map[string]ops.Receipt{
		"outcome":   {Nonce: "n", Operation: "r", Outcome: json.RawMessage(`{"ok":false}`)},
		"operation": {Nonce: "n", Operation: "other", Outcome: r.Outcome},
		"nothing":   {Nonce: "n", Operation: "r"},
	} {
		_, duplicate, err := s.Accept(ctx, other)
		if duplicate {
			return fmt.Errorf("another receipt (%s) for the nonce is a duplicate", what)
		}
		if err := refused("another receipt for the nonce: "+what, err, ops.ErrNonceSpent,
			0); err != nil {
			return err
		}
	}
	_, _, err = s.Accept(ctx, ops.Receipt{Nonce: "m", Operation: "nobody"})
	if err := refused("a receipt for nothing", err, ops.ErrNotFound, 0); err != nil {
		return err
	}
	if _, _, err := s.Accept(ctx, ops.Receipt{Nonce: "m", Operation: "other"}); err != nil {
		return fmt.Errorf("the nonce of a receipt that was refused: %w", err)
	}
	if now, err = s.finish(now); err != nil || len(now.Receipts) != 1 {
		return fmt.Errorf("a change of phase forgot a receipt: %w", err)
	}
	if err := same(); err != nil {
		return err
	}
	if _, err := s.ArchiveFinished(ctx, "e"); err != nil {
		return err
	}
	now.Archived = true
	return same()
}

func nonces(s *store) error {
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	for i, name := range folded {
		now, duplicate, err := s.Accept(ctx, ops.Receipt{Nonce: name, Operation: op.ID})
		if err != nil || duplicate || len(now.Receipts) != i+1 {
			return fmt.Errorf("nonce %.40q: duplicate %v, %w", name, duplicate, err)
		}
	}
	for _, name := range folded {
		now, duplicate, err := s.Accept(ctx, ops.Receipt{Nonce: name, Operation: op.ID})
		if err != nil || !duplicate || len(now.Receipts) != len(folded) {
			return fmt.Errorf("nonce %.40q again: duplicate %v, %w", name, duplicate, err)
		}
	}
	return nil
}

func followUp(s *store) error {
	op, err := s.begun("r1", "e")
	if err != nil {
		return err
	}
	if _, err := s.done("old", "other"); err != nil {
		return err
	}
	for what, f := range map[string]struct {
		change ops.Change
		want   error
	}{
		"unfinished": {ops.Change{Phase: "applying", FollowUp: &ops.Request{ID: "r2"}},
			ops.ErrPhase},
		"nameless": {ops.Change{Phase: "cancelled", FollowUp: &ops.Request{}}, ops.ErrInvalid},
		"elsewhere": {ops.Change{Phase: "cancelled", FollowUp: &ops.Request{ID: "r2",
			Environment: "x"}}, ops.ErrInvalid},
		"known": {ops.Change{Phase: "cancelled", FollowUp: &ops.Request{ID: "old"}},
			ops.ErrConflict},
		"itself": {ops.Change{Phase: "cancelled", FollowUp: &ops.Request{ID: "r1"}},
			ops.ErrConflict},
		"not in JSON": {ops.Change{Phase: "cancelled", FollowUp: &ops.Request{ID: "r2",
			Data: func() {}}}, ops.ErrInvalid},
	} {
		_, err := s.CompareAndSwap(ctx, "r1", op.Revision, f.change)
		if err := refused("a follow-up that is "+what, err, f.want, 0); err != nil {
			return err
		}
		if err := s.is(op); err != nil {
			return err
		}
	}
	next := &ops.Request{ID: "r2", Data: []int{1}}
	if op, err = s.swapped(op, ops.Change{Phase: "cancelled", FollowUp: next}); err != nil {
		return err
	}
	got, err := s.Get("r2")
	if err != nil || got.Follows != "r1" || op.FollowUp != "r2" || got.Environment != "e" ||
		got.Phase != "planned" || string(got.Data) != `[1]` {
		return fmt.Errorf("the follow-up of %+v is %+v, %w", op, got, err)
	}
	if _, _, err := s.Begin(ctx, ops.Request{ID: "r3", Environment: "e"}); !errors.Is(err,
		ops.ErrBusy) {
		return fmt.Errorf("Begin beside a follow-up: %v", err)
	}
	again, begun, err := s.Begin(ctx, ops.Request{ID: "r2", Environment: "e", Data: []int{1}})
	if err != nil || begun {
		return fmt.Errorf("the request of the follow-up: begun %v, %w", begun, err)
	}
	if err := equal("the request of the follow-up", again, got); err != nil {
		return err
	}
	if err := s.lists([]string{"old", "r1", "r2"}, nil, []string{"r2"}); err != nil {
		return err
	}
	if _, err := s.finish(got); err != nil {
		return err
	}
	return s.is(op)
}
