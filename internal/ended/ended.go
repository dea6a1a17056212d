// Package ended says why a context has ended, in an error that everybody recognizes.
package ended

import (
	"context"
	"errors"
)

// Cause returns why ctx has ended: its context.Cause, which matches ctx.Err too, so that who waits
// for context.Canceled finds it also where whoever cancelled gave a cause of his own. nil while ctx
// has not ended.
func Cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, whole := cause.(*wholeCause); whole || cause == nil {
		return cause
	}
	if err := ctx.Err(); !errors.Is(cause, err) {
		return &withCause{cause, err}
	}
	return cause
}

// Whole makes a cause that Cause returns as it is: that of a context which a caller does not know,
// and whose end he must not take for the end of his own.
func Whole(err error) error { return &wholeCause{err} }

type wholeCause struct{ error }

func (e *wholeCause) Unwrap() error { return e.error }

type withCause struct{ cause, err error }

func (e *withCause) Error() string   { return e.cause.Error() }
func (e *withCause) Unwrap() []error { return []error{e.cause, e.err} }
