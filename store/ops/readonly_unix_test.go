//go:build unix

package ops_test

import (
	"errors"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/ops"
)

// readOnly checks a store that can be read and not be changed, in which op is all there is.
func readOnly(t probetest.TB, s *ops.Folder, op ops.Operation, want error) {
	t.Helper()
	got, err := s.Get(op.ID)
	noError(t, err)
	if got.Revision != op.Revision || len(summary(t, s)) != 1 {
		t.Fatalf("%+v", got)
	}
	if _, begun, err := s.Begin(ctx, ops.Request{ID: op.ID,
		Environment: op.Environment}); err != nil ||
		begun {
		t.Fatalf("the same request again: %v", err)
	}
	var errs []error
	_, _, err = s.Begin(ctx, ops.Request{ID: "x", Environment: "x"})
	errs = append(errs, err)
	_, err = s.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Phase: "applying"})
	errs = append(errs, err)
	_, _, err = s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: op.ID})
	errs = append(errs, err)
	for _, err := range errs {
		e, ok := errors.AsType[*ops.Error](err)
		if !ok || !errors.Is(err, want) || e.Path == "" || e.Step == "" {
			t.Fatalf("%v, want %v", err, want)
		}
	}
}
