//lint:file-ignore ST1005 the messages begin with the names of methods

package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/conform"
)

var checks = []check{
	{name: "fresh", fn: fresh},
	{name: "raise", fn: raise},
	{name: "raise-rules", fn: raiseRules},
	{name: "released-gate", fn: releasedGate},
	{name: "try-hold", fn: tryHold},
	{name: "hold-waits", fn: holdWaits},
	{name: "hold-context", fn: holdContext},
	{name: "guard", fn: guardRuns},
	{name: "guard-excludes", fn: guardExcludes},
	{name: "guard-refuses", fn: guardRefuses},
	{name: "guard-error", fn: guardError},
	{name: "guard-panic", fn: guardPanic},
	{name: "guard-context", fn: guardContext},
	{name: "exclusion", fn: exclusion},
	{name: "reopen", reopen: true, fn: reopens},
	{name: "reopen-excludes", reopen: true, fn: reopenExcludes},
}

func fresh(s fence.Store, _ Options) error {
	a, err := s.Current()
	if err != nil {
		return err
	}
	b, err := s.Current()
	if err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("Current says %d and then %d, and nobody raised it", a, b)
	}
	return within(s, func(g fence.Gate) error { return inside(g, a) })
}

func raise(s fence.Store, _ Options) error {
	start, err := s.Current()
	if err != nil {
		return err
	}
	for _, to := range []fence.Token{start + 1, start + 2, start + 10, start + 99_999, fence.Max} {
		err := within(s, func(g fence.Gate) error {
			if err := g.Raise(to); err != nil {
				return fmt.Errorf("Raise(%d): %w", to, err)
			}
			if err := inside(g, to); err != nil {
				return err
			}
			return outside(s, to)
		})
		if err != nil {
			return err
		}
		if err := outside(s, to); err != nil {
			return err
		}
		if err := within(s, func(g fence.Gate) error { return inside(g, to) }); err != nil {
			return err
		}
	}
	return nil
}

func raiseRules(s fence.Store, _ Options) error {
	now, err := up(s)
	if err != nil {
		return err
	}
	return within(s, func(g fence.Gate) error {
		for _, r := range []struct {
			to   fence.Token
			want error
		}{
			{0, fence.ErrNotGreater},
			{now - 1, fence.ErrNotGreater},
			{now, fence.ErrNotGreater},
			{fence.Max + 1, fence.ErrTooLarge},
			{math.MaxUint64, fence.ErrTooLarge},
		} {
			if err := g.Raise(r.to); !errors.Is(err, r.want) {
				return fmt.Errorf("at %d, Raise(%d) returned %v, want %v", now, r.to, err, r.want)
			}
			if err := inside(g, now); err != nil {
				return fmt.Errorf("after the refused Raise(%d): %w", r.to, err)
			}
		}
		return outside(s, now)
	})
}

func releasedGate(s fence.Store, _ Options) error {
	g, err := s.TryHold()
	if err != nil {
		return err
	}
	now, err := g.Current()
	if err != nil {
		return err
	}
	if err := g.Release(); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	// With somebody else inside, whose gate must not be given back by the second Release.
	return within(s, func(other fence.Gate) error {
		if err := g.Release(); !errors.Is(err, fence.ErrReleased) {
			return fmt.Errorf("the second Release returned %v, want %v", err, fence.ErrReleased)
		}
		if _, err := g.Current(); !errors.Is(err, fence.ErrReleased) {
			return fmt.Errorf(
				"Current of a released gate returned %v, want %v",
				err,
				fence.ErrReleased,
			)
		}
		if err := g.Raise(now + 1); !errors.Is(err, fence.ErrReleased) {
			return fmt.Errorf(
				"Raise of a released gate returned %v, want %v",
				err,
				fence.ErrReleased,
			)
		}
		if err := inside(other, now); err != nil {
			return err
		}
		return busy(s)
	})
}

func tryHold(s fence.Store, _ Options) error {
	if err := within(s, func(fence.Gate) error { return busy(s) }); err != nil {
		return err
	}
	return free(s)
}

func holdWaits(s fence.Store, _ Options) error {
	first, err := s.Hold(context.Background())
	if err != nil {
		return err
	}
	now, err := first.Current()
	if err != nil {
		return err
	}
	var inFirst atomic.Bool
	inFirst.Store(true)
	second := conform.Spawn(func() error {
		g, err := s.Hold(context.Background())
		if err != nil {
			return err
		}
		if inFirst.Load() {
			return errors.New("a second gate was handed out while the first was held")
		}
		return errors.Join(inside(g, now+1), g.Release())
	})
	if err := first.Raise(now + 1); err != nil {
		return err
	}
	inFirst.Store(false)
	if err := first.Release(); err != nil {
		return err
	}
	return <-second
}

// short is long enough to be waiting, most of the time, and too short to be noticed. Where it was
// over before, as on a busy machine, up to long is.
const short, long = 10 * time.Millisecond, 3 * time.Second

var errCause = errors.New("the reason of the caller")

func holdContext(s fence.Store, _ Options) error {
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errCause)
	if g, err := s.Hold(gone); err == nil {
		g.Release()
		return errors.New("Hold went on with a context that had ended")
	} else if !errors.Is(err, errCause) {
		return fmt.Errorf("Hold with an ended context returned %v, want the cause of it", err)
	}
	return within(s, func(fence.Gate) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		waiting := conform.Spawn(func() error {
			g, err := s.Hold(ctx)
			if err == nil {
				g.Release()
			}
			return err
		})
		cancel(errCause)
		if err := <-waiting; !errors.Is(err, errCause) {
			return fmt.Errorf(
				"Hold returned %v, want the cause of its context, as the gate is held",
				err,
			)
		}
		return inVain("Hold", func(ctx context.Context) error {
			g, err := s.Hold(ctx)
			if err == nil {
				g.Release()
			}
			return err
		})
	})
}

// inVain has something wait for the gate, which is held, until a deadline.
func inVain(what string, fn func(context.Context) error) error {
	for wait := short; ; wait *= 4 {
		ctx, stop := context.WithTimeoutCause(context.Background(), wait, errCause)
		err := fn(ctx)
		stop()
		switch caused := errors.Is(err, errCause); {
		case caused && errors.Is(err, fence.ErrGateBusy):
			return nil
		case !caused || wait > long:
			return fmt.Errorf("%s returned %v, want %v and the cause of the context", what, err,
				fence.ErrGateBusy)
		}
	}
}

func reopens(s fence.Store, opts Options) error {
	for range 3 {
		now, err := up(s)
		if err != nil {
			return err
		}
		if s, err = opts.Reopen(s); err != nil {
			return fmt.Errorf("Reopen: %w", err)
		}
		if err := outside(s, now); err != nil {
			return fmt.Errorf("after reopening: %w", err)
		}
		err = within(s, func(g fence.Gate) error {
			if err := inside(g, now); err != nil {
				return fmt.Errorf("after reopening: %w", err)
			}
			if err := g.Raise(now); !errors.Is(err, fence.ErrNotGreater) {
				return fmt.Errorf(
					"after reopening at %d, Raise(%d) returned %v, want %v",
					now,
					now,
					err,
					fence.ErrNotGreater,
				)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func reopenExcludes(s fence.Store, opts Options) error {
	other, err := opts.Reopen(s)
	if err != nil {
		return fmt.Errorf("Reopen: %w", err)
	}
	if err := within(s, func(fence.Gate) error { return busy(other) }); err != nil {
		return err
	}
	start, err := s.Current()
	if err != nil {
		return err
	}
	return contend(start, s, other, s, other)
}

// The small steps.

// within runs fn with the gate held.
func within(s fence.Store, fn func(g fence.Gate) error) error {
	g, err := s.Hold(context.Background())
	if err != nil {
		return fmt.Errorf("Hold: %w", err)
	}
	if err := fn(g); err != nil {
		g.Release()
		return err
	}
	if err := g.Release(); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	return nil
}

// up raises by one and returns the new number.
func up(s fence.Store) (now fence.Token, err error) {
	err = within(s, func(g fence.Gate) error {
		if now, err = g.Current(); err != nil {
			return err
		}
		now++
		return g.Raise(now)
	})
	return now, err
}

func inside(g fence.Gate, want fence.Token) error {
	if got, err := g.Current(); err != nil || got != want {
		return fmt.Errorf("Current inside the gate returned %d, %v, want %d", got, err, want)
	}
	return nil
}

func outside(s fence.Store, want fence.Token) error {
	if got, err := s.Current(); err != nil || got != want {
		return fmt.Errorf("Current returned %d, %v, want %d", got, err, want)
	}
	return nil
}

// busy: TryHold must say so, as the caller holds the gate.
func busy(s fence.Store) error {
	g, err := s.TryHold()
	if err == nil {
		g.Release()
		return errors.New("TryHold handed out a second gate")
	}
	if !errors.Is(err, fence.ErrGateBusy) {
		return fmt.Errorf("TryHold returned %v, want %v", err, fence.ErrGateBusy)
	}
	return nil
}

// free: nobody may be left inside.
func free(s fence.Store) error {
	g, err := s.TryHold()
	if err != nil {
		return fmt.Errorf("the gate was not given back: %w", err)
	}
	return g.Release()
}
