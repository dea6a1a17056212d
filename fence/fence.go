package fence

import (
	"context"
	"errors"
	"fmt"
)

// Store keeps one counter and its gate. Counter is the one on disk, Memory the one for tests;
// package fencetest checks others.
type Store interface {
	// Hold waits for the gate until ctx ends.
	Hold(ctx context.Context) (Gate, error)
	// TryHold takes the gate if it is free, and never waits: ErrGateBusy when it is not.
	TryHold() (Gate, error)
	// Current returns the number without waiting for the gate. It may be out of date when it
	// arrives; what has to be true until something is done belongs into Guard.
	Current() (Token, error)
	// Guard takes the gate, runs fn if token is the current number, and lets the gate go, also when
	// fn panics. An error of fn is returned as it is. ErrFenced and ErrNeverIssued say that fn was
	// not called.
	Guard(ctx context.Context, token Token, fn func() error) error
}

// Gate is the right to read and raise a counter while everybody else waits. Keep it briefly: who
// stops inside the gate stops everybody.
type Gate interface {
	// Current returns the number.
	Current() (Token, error)
	// Raise sets the number durably. It must be greater than the current one (ErrNotGreater) and at
	// most Max (ErrTooLarge). After any other error the number may or may not have been raised: do
	// not use it.
	Raise(to Token) error
	// Release gives the gate back. A second call fails with ErrReleased.
	Release() error
}

// guard is Guard for stores whose errors carry path. After fn, still tells whether the gate
// excluded everybody while fn ran.
func guard(ctx context.Context, s Store, path string, token Token, fn func() error,
	still func(Gate) error) (err error) {
	gate, err := s.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() { // also when fn panics or ends the goroutine
		if e := gate.Release(); e != nil {
			err = errors.Join(err, e)
		}
	}()
	current, err := gate.Current()
	if err != nil {
		return err
	}
	switch {
	case current > token:
		return &FencedError{Path: path, Token: token, Current: current}
	case current < token:
		return &Error{"guard", path, fmt.Errorf("token %d, counter at %d: %w", token, current,
			ErrNeverIssued)}
	}
	if err := fn(); err != nil {
		return err
	}
	return still(gate)
}

// raisable checks the rules of Raise.
func raisable(path string, current, to Token) error {
	switch {
	case to <= current:
		return &Error{"raise", path, fmt.Errorf("from %d to %d: %w", current, to, ErrNotGreater)}
	case to > Max:
		return &Error{"raise", path, fmt.Errorf("from %d to %d: %w", current, to, ErrTooLarge)}
	}
	return nil
}
