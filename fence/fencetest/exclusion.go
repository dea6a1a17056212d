package fencetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/conform"
)

// exclusion: many goroutines read, add one and raise. Any two that were inside together would meet
// in the plain variable, or raise to the same number.
func exclusion(s fence.Store, _ Options) error {
	start, err := s.Current()
	if err != nil {
		return err
	}
	return contend(start, s, s, s, s)
}

func contend(start fence.Token, stores ...fence.Store) error {
	const rounds = 50
	var inside atomic.Int32
	var mu sync.Mutex
	given := map[fence.Token]bool{}
	var running []<-chan error
	for _, s := range stores {
		running = append(running, conform.Spawn(func() error {
			last := start
			for range rounds {
				err := within(s, func(g fence.Gate) error {
					if n := inside.Add(1); n != 1 {
						return fmt.Errorf("%d gates are held at once", n)
					}
					defer inside.Add(-1)
					now, err := g.Current()
					if err != nil {
						return err
					}
					if now < last {
						return fmt.Errorf("the number went back from %d to %d", last, now)
					}
					if err := g.Raise(now + 1); err != nil {
						return err
					}
					last = now + 1
					mu.Lock()
					defer mu.Unlock()
					if given[last] {
						return fmt.Errorf("the number %d was reached twice", last)
					}
					given[last] = true
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err := conform.All(running); err != nil {
		return err
	}
	return outside(stores[0], start+fence.Token(rounds*len(stores)))
}
