//lint:file-ignore ST1005 the messages begin with the names of methods

package fencetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/conform"
)

// The checks of Guard.

func guardRuns(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	runs := 0
	err = s.Guard(context.Background(), now, func() error {
		runs++
		if err := outside(s, now); err != nil {
			return err
		}
		return busy(s)
	})
	if err != nil {
		return fmt.Errorf("Guard: %w", err)
	}
	if runs != 1 {
		return fmt.Errorf("Guard ran its function %d times", runs)
	}
	return free(s)
}

// guardExcludes: no raise comes between the check of a token and the end of the function.
func guardExcludes(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	const rounds, guards = 50, 3
	var running []<-chan error
	for range guards {
		running = append(running, conform.Spawn(func() error {
			for range rounds {
				t, err := s.Current()
				if err != nil {
					return err
				}
				err = s.Guard(context.Background(), t, func() error {
					if err := outside(s, t); err != nil {
						return fmt.Errorf("inside Guard(%d): %w", t, err)
					}
					return outside(s, t)
				})
				if err != nil && !errors.Is(err, fence.ErrFenced) {
					return err
				}
			}
			return nil
		}))
	}
	running = append(running, conform.Spawn(func() error {
		for range rounds {
			if _, err := up(s); err != nil {
				return err
			}
		}
		return nil
	}))
	if err := conform.All(running); err != nil {
		return err
	}
	return outside(s, now+rounds)
}

func guardRefuses(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	ran := errors.New("ran")
	fn := func() error { return ran }
	err = s.Guard(context.Background(), now-1, fn)
	if errors.Is(err, ran) || !errors.Is(err, fence.ErrFenced) {
		return fmt.Errorf(
			"counter %d, Guard(%d) returned %v, want %v",
			now,
			now-1,
			err,
			fence.ErrFenced,
		)
	}
	if fe, ok := errors.AsType[*fence.FencedError](err); !ok || fe.Token != now-1 ||
		fe.Current != now {
		return fmt.Errorf("counter %d, Guard(%d) returned %#v, want a *FencedError with both", now,
			now-1, err)
	}
	err = s.Guard(context.Background(), now+1, fn)
	if errors.Is(err, ran) || !errors.Is(err, fence.ErrNeverIssued) {
		return fmt.Errorf("counter %d, Guard(%d) returned %v, want %v", now, now+1, err,
			fence.ErrNeverIssued)
	}
	if err := outside(s, now); err != nil {
		return err
	}
	return free(s)
}

func guardError(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	err = s.Guard(context.Background(), now, func() error { return errCause })
	if err != errCause {
		return fmt.Errorf("Guard returned %v, want the error of the function as it is", err)
	}
	return free(s)
}

func guardPanic(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	caught := func() (p any) {
		defer func() { p = recover() }()
		s.Guard(context.Background(), now, func() error { panic(errCause) })
		return nil
	}()
	if caught != any(errCause) {
		return fmt.Errorf("the function panicked, and Guard made %v of it", caught)
	}
	return free(s)
}

func guardContext(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	return within(s, func(fence.Gate) error {
		ran := false
		err := inVain("Guard", func(ctx context.Context) error {
			return s.Guard(ctx, now, func() error { ran = true; return nil })
		})
		if ran {
			return errors.New("Guard ran its function while the gate was held")
		}
		return err
	})
}
