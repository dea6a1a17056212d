package opstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/probate-dev/probate/store/ops"
)

var ctx = context.Background()

// begun begins an operation that must be new.
func (s *store) begun(id, environment string) (ops.Operation, error) {
	op, begun, err := s.Begin(ctx, ops.Request{ID: id, Environment: environment,
		Data: map[string]string{"for": id}})
	switch {
	case err != nil:
		return op, fmt.Errorf("Begin of %.80q: %w", id, err)
	case !begun:
		return op, fmt.Errorf("Begin of %.80q, which is new, says that it is not", id)
	case op.ID != id || op.Environment != environment || op.Phase != "planned" ||
		op.Revision == 0 ||
		op.Digest == "" || op.Restored != "" || op.Archived:
		return op, fmt.Errorf("Begin of %.80q in %q returns %+v", id, environment, op)
	}
	return op, s.is(op)
}

// done runs an operation through to its end.
func (s *store) done(id, environment string) (ops.Operation, error) {
	op, err := s.begun(id, environment)
	if err != nil {
		return op, err
	}
	return s.finish(op)
}

func (s *store) finish(op ops.Operation) (ops.Operation, error) {
	for _, to := range []ops.Phase{"applying", "applied"} {
		var err error
		if op, err = s.swapped(op, ops.Change{Phase: to}); err != nil {
			return op, err
		}
	}
	return op, nil
}

// swapped changes an operation, which must succeed.
func (s *store) swapped(op ops.Operation, c ops.Change) (ops.Operation, error) {
	now, err := s.CompareAndSwap(ctx, op.ID, op.Revision, c)
	if err != nil {
		return now, fmt.Errorf("CompareAndSwap of %.80q: %w", op.ID, err)
	}
	if now.Revision <= op.Revision {
		return now, fmt.Errorf("the revision went from %d to %d", op.Revision, now.Revision)
	}
	return now, s.is(now)
}

// is says when Get does not return the operation like this.
func (s *store) is(want ops.Operation) error {
	got, err := s.Get(want.ID)
	if err != nil {
		return fmt.Errorf("Get of %.80q: %w", want.ID, err)
	}
	return equal("Get of "+want.ID, got, want)
}

// equal compares operations.
func equal(what string, got, want ops.Operation) error {
	for _, op := range []*ops.Operation{&got, &want} { // the same moment in any form
		op.CreatedAt, op.UpdatedAt = op.CreatedAt.UTC(), op.UpdatedAt.UTC()
	}
	if got.Revision != want.Revision || got.Phase != want.Phase || string(got.Data) !=
		string(want.Data) || got.Digest != want.Digest || got.Environment != want.Environment ||
		got.ID != want.ID || got.Archived != want.Archived || got.Restored != want.Restored ||
		got.Follows != want.Follows || got.FollowUp != want.FollowUp ||
		!sameList(got.Owned, want.Owned) || !sameList(got.Effects, want.Effects) ||
		!sameList(got.Receipts, want.Receipts) || !sameList(got.Claims, want.Claims) ||
		got.Owner.Process.PID != want.Owner.Process.PID ||
		got.Writer.Process.PID != want.Writer.Process.PID ||
		!got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
		return fmt.Errorf("%s: got  %+v\nwant %+v", what, got, want)
	}
	return nil
}

func sameList[T any](a, b []T) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// refused says when an error is not the one that is wanted, or does not name the current operation.
func refused(what string, err, want error, current ops.Revision) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: %v, want %w", what, err, want)
	}
	if current == 0 {
		return nil
	}
	e, ok := errors.AsType[*ops.Error](err)
	if !ok || e.Current == nil || e.Current.Revision != current {
		return fmt.Errorf("%s: %v does not say that the operation is at revision %d", what, err,
			current)
	}
	return nil
}

// collect returns the ids of a listing, each with how often it came.
func collect[T any](list iter.Seq2[T, error], id func(T) string) (map[string]int, error) {
	ids := map[string]int{}
	for v, err := range list {
		if err != nil {
			return ids, fmt.Errorf("a listing: %w", err)
		}
		ids[id(v)]++
	}
	return ids, nil
}

func idOf(op ops.Operation) string       { return op.ID }
func idOfRecovery(r ops.Recovery) string { return r.Operation.ID }

// lists says when the listings do not have exactly these operations, once each.
func (s *store) lists(all, archived, recoverable []string) error {
	for _, l := range []struct {
		name string
		want []string
		get  func() (map[string]int, error)
	}{
		{"All", all, func() (map[string]int, error) { return collect(s.All(), idOf) }},
		{"Archived", archived, func() (map[string]int, error) {
			return collect(s.Archived(),
				idOf)
		}},
		{"Recoverable", recoverable, func() (map[string]int, error) {
			return collect(s.Recoverable(), idOfRecovery)
		}},
	} {
		got, err := l.get()
		if err != nil {
			return err
		}
		want := map[string]int{}
		for _, id := range l.want {
			want[id] = 1
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s yields %v, want %v", l.name, got, want)
		}
	}
	return nil
}
