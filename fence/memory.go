package fence

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/probate-dev/probate/internal/ended"
)

// Memory is a Store in the memory of one process: for tests, and for code that guards against its
// own goroutines only. Nothing outlives the process.
type Memory struct {
	slot  chan struct{}
	value atomic.Uint64
}

// NewMemory returns a counter at 0.
func NewMemory() *Memory { return &Memory{slot: make(chan struct{}, 1)} }

const memoryPath = "(memory)"

// Current is explained at Store.
func (m *Memory) Current() (Token, error) { return Token(m.value.Load()), nil }

// TryHold is explained at Store.
func (m *Memory) TryHold() (Gate, error) {
	select {
	case m.slot <- struct{}{}:
		return &memoryGate{m: m}, nil
	default:
		return nil, fail("lock", memoryPath, ErrGateBusy)
	}
}

// Hold is explained at Store.
func (m *Memory) Hold(ctx context.Context) (Gate, error) {
	if ctx.Err() != nil {
		return nil, fail("take the gate of", memoryPath, ended.Cause(ctx))
	}
	select {
	case m.slot <- struct{}{}:
		return &memoryGate{m: m}, nil
	case <-ctx.Done():
		return nil, fail("wait for the gate of", memoryPath,
			fmt.Errorf("%w: %w", ErrGateBusy, ended.Cause(ctx)))
	}
}

// Guard is explained at Store.
func (m *Memory) Guard(ctx context.Context, token Token, fn func() error) error {
	return guard(ctx, m, memoryPath, token, fn, func(Gate) error { return nil })
}

type memoryGate struct {
	m        *Memory
	mu       sync.Mutex
	released bool
}

func (g *memoryGate) Current() (Token, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return 0, fail("read", memoryPath, ErrReleased)
	}
	return g.m.Current()
}

func (g *memoryGate) Raise(to Token) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return fail("raise", memoryPath, ErrReleased)
	}
	if err := raisable(memoryPath, Token(g.m.value.Load()), to); err != nil {
		return err
	}
	g.m.value.Store(uint64(to))
	return nil
}

func (g *memoryGate) Release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released {
		return fail("release", memoryPath, ErrReleased)
	}
	g.released = true
	<-g.m.slot
	return nil
}
