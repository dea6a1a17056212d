package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
)

// store is a fence.Store made of functions: each case below breaks one of them.
type store struct {
	hold    func(ctx context.Context) (fence.Gate, error)
	tryHold func() (fence.Gate, error)
	current func() (fence.Token, error)
	guard   func(ctx context.Context, token fence.Token, fn func() error) error
	reopen  func() fence.Store
}

func (s *store) Hold(ctx context.Context) (fence.Gate, error) { return s.hold(ctx) }
func (s *store) TryHold() (fence.Gate, error)                 { return s.tryHold() }
func (s *store) Current() (fence.Token, error)                { return s.current() }
func (s *store) Guard(ctx context.Context, t fence.Token, fn func() error) error {
	return s.guard(ctx, t, fn)
}

type gate struct {
	current func() (fence.Token, error)
	raise   func(to fence.Token) error
	release func() error
}

func (g *gate) Current() (fence.Token, error) { return g.current() }
func (g *gate) Raise(to fence.Token) error    { return g.raise(to) }
func (g *gate) Release() error                { return g.release() }

// good is a store that keeps the rules, ready to be broken.
func good() *store {
	m := fence.NewMemory()
	s := &store{hold: m.Hold, tryHold: m.TryHold, current: m.Current, guard: m.Guard}
	s.reopen = func() fence.Store { return s }
	return s
}

// gates breaks every gate that s hands out.
func (s *store) gates(spoil func(*gate)) {
	wrap := func(g fence.Gate, err error) (fence.Gate, error) {
		if err != nil {
			return nil, err
		}
		w := &gate{g.Current, g.Raise, g.Release}
		spoil(w)
		return w, nil
	}
	hold, try := s.hold, s.tryHold
	s.hold = func(ctx context.Context) (fence.Gate, error) { return wrap(hold(ctx)) }
	s.tryHold = func() (fence.Gate, error) { return wrap(try()) }
}

var misbehaving = map[string]struct {
	spoil func(s *store)
	by    string // the check that must notice
}{
	"does not raise": {func(s *store) {
		s.gates(func(g *gate) { g.raise = func(fence.Token) error { return nil } })
	}, "raise"},
	"raises by one whatever is asked": {func(s *store) {
		s.gates(func(g *gate) {
			raise := g.raise
			g.raise = func(to fence.Token) error {
				now, _ := g.current()
				if to <= now {
					return raise(to)
				}
				return raise(now + 1)
			}
		})
	}, "raise"},
	"raises outside only after the release": {func(s *store) {
		current := s.current
		var held atomic.Bool
		var before atomic.Uint64
		s.gates(func(g *gate) {
			now, _ := current()
			before.Store(uint64(now))
			held.Store(true)
			release := g.release
			g.release = func() error { held.Store(false); return release() }
		})
		s.current = func() (fence.Token, error) {
			if held.Load() {
				return fence.Token(before.Load()), nil
			}
			return current()
		}
	}, "raise"},
	"accepts an equal number": {func(s *store) {
		s.gates(func(g *gate) {
			raise := g.raise
			g.raise = func(to fence.Token) error {
				if now, err := g.current(); err == nil && to == now {
					return nil
				}
				return raise(to)
			}
		})
	}, "raise-rules"},
	"lowers the number": {func(s *store) {
		low := map[bool]fence.Token{}
		current := s.current
		s.current = func() (fence.Token, error) {
			if t, ok := low[true]; ok {
				return t, nil
			}
			return current()
		}
		s.gates(func(g *gate) {
			raise, cur := g.raise, g.current
			g.current = func() (fence.Token, error) {
				if t, ok := low[true]; ok {
					return t, nil
				}
				return cur()
			}
			g.raise = func(to fence.Token) error {
				err := raise(to)
				if errors.Is(err, fence.ErrNotGreater) {
					low[true] = to
					return nil
				}
				return err
			}
		})
	}, "raise-rules"},
	"says it refused, and lowers all the same": {func(s *store) {
		var off fence.Token
		current := s.current
		s.current = func() (fence.Token, error) { t, err := current(); return t - off, err }
		s.gates(func(g *gate) {
			raise, cur := g.raise, g.current
			g.current = func() (fence.Token, error) { t, err := cur(); return t - off, err }
			g.raise = func(to fence.Token) error {
				err := raise(to)
				if errors.Is(err, fence.ErrNotGreater) {
					off = 1
				}
				return err
			}
		})
	}, "raise-rules"},
	"goes above the largest number": {func(s *store) {
		s.gates(func(g *gate) {
			raise := g.raise
			g.raise = func(to fence.Token) error {
				if err := raise(to); !errors.Is(err, fence.ErrTooLarge) {
					return err
				}
				return nil
			}
		})
	}, "raise-rules"},
	"forgets on reopen": {func(s *store) {
		s.reopen = func() fence.Store { return fence.NewMemory() }
	}, "reopen"},
	"has one gate for each opening": {func(s *store) {
		other := fence.NewMemory() // a gate of its own, and the numbers of the first
		s.reopen = func() fence.Store {
			r := &store{current: s.current, guard: s.guard, reopen: s.reopen}
			through := func(own fence.Gate, err error) (fence.Gate, error) {
				if err != nil {
					return nil, err
				}
				return &gate{s.current, func(to fence.Token) error {
					g, err := s.hold(context.Background())
					if err != nil {
						return err
					}
					defer g.Release()
					return g.Raise(to)
				}, own.Release}, nil
			}
			r.hold = func(ctx context.Context) (fence.Gate, error) {
				return through(other.Hold(ctx))
			}
			r.tryHold = func() (fence.Gate, error) { return through(other.TryHold()) }
			return r
		}
	}, "reopen-excludes"},
	"does not exclude": {func(s *store) {
		all := fence.NewMemory()
		free := func() (fence.Gate, error) {
			return &gate{all.Current, func(to fence.Token) error {
				g, _ := all.Hold(context.Background())
				defer g.Release()
				return g.Raise(to)
			}, func() error { return nil }}, nil
		}
		s.current = all.Current
		s.tryHold = free
		s.hold = func(context.Context) (fence.Gate, error) { return free() }
	}, "try-hold"},
	"excludes in TryHold only": {func(s *store) {
		hold, try := s.hold, s.tryHold
		s.hold = func(ctx context.Context) (fence.Gate, error) {
			g, err := try()
			if errors.Is(err, fence.ErrGateBusy) { // gives up waiting and goes on
				m := fence.NewMemory()
				return m.Hold(ctx)
			}
			return g, err
		}
		_ = hold
	}, "hold-context"},
	"TryHold waits": {func(s *store) {
		hold := s.hold
		s.tryHold = func() (fence.Gate, error) { return hold(context.Background()) }
	}, "try-hold"},
	"TryHold says something else": {func(s *store) {
		try := s.tryHold
		s.tryHold = func() (fence.Gate, error) {
			g, err := try()
			if err != nil {
				return nil, errors.New("not now")
			}
			return g, nil
		}
	}, "try-hold"},
	"Hold ignores its context": {func(s *store) {
		hold := s.hold
		s.hold = func(context.Context) (fence.Gate, error) { return hold(context.Background()) }
	}, "hold-context"},
	"Hold hides the cause": {func(s *store) {
		hold := s.hold
		s.hold = func(ctx context.Context) (fence.Gate, error) {
			g, err := hold(ctx)
			if err != nil {
				return nil, fence.ErrGateBusy
			}
			return g, nil
		}
	}, "hold-context"},
	"releases twice": {func(s *store) {
		s.gates(func(g *gate) {
			release := g.release
			g.release = func() error { release(); return nil }
		})
	}, "released-gate"},
	"a released gate still reads": {func(s *store) {
		s.gates(func(g *gate) { g.current = s.current })
	}, "released-gate"},
	"Guard does not compare": {func(s *store) {
		hold := s.hold
		s.guard = func(ctx context.Context, _ fence.Token, fn func() error) error {
			g, err := hold(ctx)
			if err != nil {
				return err
			}
			defer g.Release()
			return fn()
		}
	}, "guard-refuses"},
	"Guard lets a token from elsewhere pass": {func(s *store) {
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			if err := guard(ctx, t, fn); !errors.Is(err, fence.ErrNeverIssued) {
				return err
			}
			return fn()
		}
	}, "guard-refuses"},
	"Guard runs before it refuses": {func(s *store) {
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			ran := fn()
			return errors.Join(ran, guard(ctx, t, func() error { return nil }))
		}
	}, "guard"},
	"Guard compares outside of the gate": {func(s *store) {
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			if now, err := s.current(); err != nil {
				return err
			} else if now > t {
				return &fence.FencedError{Token: t, Current: now}
			} else if now < t {
				return fence.ErrNeverIssued
			}
			return fn()
		}
	}, "guard"},
	"Guard swallows the error": {func(s *store) {
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			return guard(ctx, t, func() error { fn(); return nil })
		}
	}, "guard-error"},
	"Guard swallows the panic": {func(s *store) {
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			return guard(ctx, t, func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("%v", p)
					}
				}()
				return fn()
			})
		}
	}, "guard-panic"},
	"Guard keeps the gate after a panic": {func(s *store) {
		hold, current := s.hold, s.current
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			if now, _ := current(); now != t {
				return guard(ctx, t, fn)
			}
			g, err := hold(ctx)
			if err != nil {
				return err
			}
			if err := fn(); err != nil {
				g.Release()
				return err
			}
			return g.Release()
		}
	}, "guard-panic"},
	"Guard keeps the gate after an error": {func(s *store) {
		guard, hold := s.guard, s.hold
		s.guard = func(ctx context.Context, t fence.Token, fn func() error) error {
			err := guard(ctx, t, fn)
			if err != nil {
				hold(context.Background())
			}
			return err
		}
	}, "guard-error"},
	"Guard never runs its function": {func(s *store) {
		guard := s.guard
		s.guard = func(ctx context.Context, t fence.Token, _ func() error) error {
			return guard(ctx, t, func() error { return nil })
		}
	}, "guard"},
	"panics": {func(s *store) {
		s.current = func() (fence.Token, error) { panic("not today") }
	}, "fresh"},
	"two at the same number": {func(s *store) {
		var inside int
		s.gates(func(g *gate) {
			raise := g.raise
			inside++
			if inside%7 == 0 { // now and then a raise is lost
				g.raise = func(to fence.Token) error {
					if now, _ := g.current(); to == now+1 {
						return nil
					}
					return raise(to)
				}
			}
		})
	}, "exclusion"},
}

// The suite fails on each of these stores, by the check that is there for it.
func TestMisbehavingStoresFail(t *testing.T) {
	opts := Options{
		Reopen:   func(s fence.Store) (fence.Store, error) { return s.(*store).reopen(), nil },
		Patience: 500 * time.Millisecond,
	}
	open := func() (fence.Store, error) { return good(), nil }
	if errs := Check(open, Options{Reopen: opts.Reopen}); len(errs) != 0 {
		t.Fatalf("a good store fails: %v", errs)
	}
	for name, m := range misbehaving {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := Check(func() (fence.Store, error) {
				s := good()
				m.spoil(s)
				return s, nil
			}, opts)
			for _, err := range errs {
				if strings.HasPrefix(err.Error(), m.by+": ") {
					return
				}
			}
			t.Errorf("the check %q does not notice; all: %v", m.by, errs)
		})
	}
}
