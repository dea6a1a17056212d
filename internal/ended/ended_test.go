package ended

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCause(t *testing.T) {
	own := errors.New("the lid was closed")
	cancelled := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	late, stop := context.WithDeadlineCause(t.Context(), time.Now(), own)
	defer stop()
	<-late.Done()
	for name, c := range map[string]struct {
		ctx  context.Context
		text string
		is   []error
	}{
		"none":        {cancelled(nil), "context canceled", []error{context.Canceled}},
		"own":         {cancelled(own), own.Error(), []error{own, context.Canceled}},
		"deadline":    {late, own.Error(), []error{own, context.DeadlineExceeded}},
		"both":        {cancelled(fmt.Errorf("x: %w", context.Canceled)), "x: context canceled", nil},
		"of a parent": {child(cancelled(own)), own.Error(), []error{own, context.Canceled}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Cause(c.ctx)
			if err == nil || err.Error() != c.text {
				t.Fatalf("%v, want %s", err, c.text)
			}
			for _, want := range c.is {
				if !errors.Is(err, want) {
					t.Errorf("%v does not match %v", err, want)
				}
			}
			if errors.Is(err, context.Canceled) && errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v matches both ends", err)
			}
		})
	}
	inner := Cause(cancelled(Whole(own)))
	if !errors.Is(inner, own) || inner.Error() != own.Error() ||
		errors.Is(inner, context.Canceled) {
		t.Errorf("of a context of our own: %v", inner)
	}
	if err := Cause(t.Context()); err != nil {
		t.Errorf("it has not ended: %v", err)
	}
}

func child(ctx context.Context) context.Context {
	type key struct{}
	return context.WithValue(ctx, key{}, 1)
}
