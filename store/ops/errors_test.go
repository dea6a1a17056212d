package ops_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

// Every refusal names the step, the path, the operation, and the next thing to do.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, ops.Options{})
	op := begin(t, s, "r", "e")
	done := swap(t, s, begin(t, s, "done", "other"), "cancelled")
	_, _, err := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r"})
	noError(t, err)
	op = get(t, s, "r")
	_, err = s.RecordOwned(ctx, "r", op.Revision, ops.Resource{Kind: "k", Name: "n"})
	noError(t, err)
	op = get(t, s, "r")
	foreign, err := ops.Open(dir, opstest.Phases(),
		ops.Options{Judge: func(ops.Stamp) identity.Finding {
			return identity.Finding{}
		}})
	noError(t, err)
	for name, c := range map[string]struct {
		try     func() error
		want    error
		current string // id
	}{
		"busy": {func() error {
			_, _, err := s.Begin(ctx, ops.Request{ID: "x", Environment: "e"})
			return err
		}, ops.ErrBusy, "r"},
		"conflict": {func() error {
			_, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e", Digest: "x"})
			return err
		}, ops.ErrConflict, "r"},
		"stale": {func() error {
			_, err := s.CompareAndSwap(ctx, "r", 1, ops.Change{Data: 1})
			return err
		}, ops.ErrStale, "r"},
		"phase": {func() error {
			_, err := s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Phase: "applied"})
			return err
		}, ops.ErrPhase, "r"},
		"finished": {func() error {
			_, err := s.CompareAndSwap(ctx, "done", done.Revision, ops.Change{Data: 1})
			return err
		}, ops.ErrFinished, "done"},
		"resource": {func() error {
			_, err := s.RecordOwned(ctx, "r", op.Revision,
				ops.Resource{Kind: "k", Name: "n", Data: []byte("1")})
			return err
		}, ops.ErrConflict, "r"},
		"nonce": {func() error {
			_, _, err := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "done"})
			return err
		}, ops.ErrNonceSpent, ""},
		"missing": {func() error { _, err := s.Get("x"); return err }, ops.ErrNotFound, ""},
		"archive": {func() error { _, err := s.ArchiveFinished(ctx); return err }, ops.ErrBusy, "r"},
		"too large": {func() error {
			_, err := s.CompareAndSwap(ctx, "r", op.Revision,
				ops.Change{Data: strings.Repeat("x", ops.MaxBytes)})
			return err
		}, ops.ErrTooLarge, ""},
		"invalid": {func() error {
			_, err := s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Data: func() {}})
			return err
		}, ops.ErrInvalid, ""},
		"locked": {func() error {
			lock, err := lockfile.TryAcquire(s.LockState(), lockfile.Options{})
			noError(t, err)
			defer lock.Release()
			short, impatient := givesUp(t, dir)
			_, _, err = impatient.Begin(short, ops.Request{ID: "x", Environment: "x"})
			return err
		}, lockfile.ErrBusy, ""},
		"ended": {func() error {
			ended, end := context.WithCancel(ctx)
			end()
			_, _, err := s.Begin(ended, ops.Request{ID: "x", Environment: "x"})
			return err
		}, context.Canceled, ""},
		"phases": {func() error {
			_, err := ops.Open(dir, ops.Phases{}, ops.Options{})
			return err
		}, ops.ErrInvalid, ""},
	} {
		err := c.try()
		e, ok := errors.AsType[*ops.Error](err)
		if !ok || !errors.Is(err, c.want) || e.Op == "" || e.Step == "" || e.Next == "" ||
			!strings.HasPrefix(e.Path, dir) || strings.Count(err.Error(), e.Next) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (e.Current != nil) != (c.current != "") || e.Current != nil && e.Current.ID != c.current {
			t.Errorf("%s: it is about %+v, want %q", name, e.Current, c.current)
		}
	}
	me, err := identity.Current()
	noError(t, err)
	if me.Boot != "" {
		// An operation of this very process needs no judge.
		if _, err := foreign.Claim(ctx, "r", op.Revision, ops.Takeover{}); err != nil {
			t.Errorf("%v", err)
		}
	}
	if now := get(t, s, "r"); now.Revision != op.Revision {
		t.Errorf("what was refused has changed something: %+v", now)
	}
}
