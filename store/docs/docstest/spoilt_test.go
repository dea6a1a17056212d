package docstest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/probate-dev/probate/store/docs"
)

// store is a docs.Store made of functions: each case below breaks one of them.
type store struct {
	load func(ctx context.Context, key string) (docs.Document, error)
	swap func(ctx context.Context, key string, v docs.Version,
		value json.RawMessage) (docs.Version, error)
	del   func(ctx context.Context, key string, v docs.Version) error
	list  func(ctx context.Context) ([]string, error)
	watch func(ctx context.Context, key string) iter.Seq2[docs.Document, error]

	second, reopen func() docs.Store
	damaged        *sync.Map // key → what is kept of a damaged document
	failWrite      func(key string, v docs.Version, value []byte) error
	interrupt      func(key string, v docs.Version, value []byte, step int) (bool, error)
}

func (s *store) Load(ctx context.Context, key string) (docs.Document, error) {
	return s.load(ctx, key)
}

func (s *store) CompareAndSwap(ctx context.Context, key string, v docs.Version,
	value json.RawMessage) (docs.Version, error) {
	return s.swap(ctx, key, v, value)
}

func (s *store) Delete(ctx context.Context, key string, v docs.Version) error {
	return s.del(ctx, key, v)
}

func (s *store) List(ctx context.Context) ([]string, error) { return s.list(ctx) }

func (s *store) Watch(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
	return s.watch(ctx, key)
}

var errDisk = errors.New("the disk is full")

const steps = 3 // of a write that can be interrupted

// good is a store that keeps the rules, ready to be broken.
func good() *store {
	m := docs.NewMemory()
	s := &store{damaged: &sync.Map{}}
	corrupt := func(key string) error {
		if _, bad := s.damaged.Load(key); bad {
			return docs.Explain("load", key, "memory", "decode the document", docs.ErrCorrupt)
		}
		return nil
	}
	s.load = func(ctx context.Context, key string) (docs.Document, error) {
		if err := corrupt(key); err != nil {
			return docs.Document{}, err
		}
		return m.Load(ctx, key)
	}
	s.swap = func(ctx context.Context, key string, v docs.Version,
		value json.RawMessage) (docs.Version, error) {
		if err := corrupt(key); err != nil {
			return 0, err
		}
		return m.CompareAndSwap(ctx, key, v, value)
	}
	s.del = func(ctx context.Context, key string, v docs.Version) error {
		if err := corrupt(key); err != nil {
			return err
		}
		return m.Delete(ctx, key, v)
	}
	s.list = m.List
	s.watch = func(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
		if err := corrupt(key); err != nil {
			return func(yield func(docs.Document, error) bool) {
				yield(docs.Document{Key: key}, err)
			}
		}
		return m.Watch(ctx, key)
	}
	s.second = func() docs.Store { return s }
	s.reopen = func() docs.Store { return s }
	s.failWrite = func(string, docs.Version, []byte) error { return errDisk }
	s.interrupt = func(key string, v docs.Version, value []byte, step int) (bool, error) {
		if step < steps { // killed before the write
			return false, nil
		}
		_, err := m.CompareAndSwap(always, key, v, value) // and after it
		return step > steps, err
	}
	return s
}

func options() Options {
	return Options{
		Second: func(s docs.Store) (docs.Store, error) { return s.(*store).second(), nil },
		Reopen: func(s docs.Store) (docs.Store, error) { return s.(*store).reopen(), nil },
		Damage: func(s docs.Store, key string) error {
			s.(*store).damaged.Store(key, []byte("damaged"))
			return nil
		},
		Raw: func(s docs.Store, key string) ([]byte, error) {
			raw, _ := s.(*store).damaged.Load(key)
			data, _ := raw.([]byte)
			return data, nil
		},
		FailWrites: func(s docs.Store, key string, v docs.Version, value []byte) error {
			return s.(*store).failWrite(key, v, value)
		},
		Interrupt: func(s docs.Store, key string, v docs.Version, value []byte, step int) (
			bool, error) {
			return s.(*store).interrupt(key, v, value, step)
		},
		Patience: time.Minute,
	}
}

// call is a compare-and-swap that is about to be done with next.
type call struct {
	next  docs.Store
	key   string
	v     docs.Version
	value json.RawMessage
}

func (c call) swap() (docs.Version, error) {
	return c.next.CompareAndSwap(always, c.key, c.v, c.value)
}

// swapped changes what compare-and-swap does.
func swapped(s *store, fn func(c call) (docs.Version, error)) {
	swap := s.swap
	next := &store{load: s.load, swap: swap, del: s.del, list: s.list}
	s.swap = func(ctx context.Context, key string, v docs.Version,
		value json.RawMessage) (docs.Version, error) {
		if ctx.Err() != nil {
			return swap(ctx, key, v, value)
		}
		return fn(call{next, key, v, value})
	}
}

// loaded changes what Load returns.
func loaded(s *store, fn func(d docs.Document, err error) (docs.Document, error)) {
	load := s.load
	s.load = func(ctx context.Context, key string) (docs.Document, error) {
		return fn(load(ctx, key))
	}
}

// listed changes what List returns.
func listed(s *store, fn func(keys []string) []string) {
	list := s.list
	s.list = func(ctx context.Context) ([]string, error) {
		keys, err := list(ctx)
		return fn(keys), err
	}
}

// watched changes what Watch yields; keep says whether the n-th is told.
func watched(
	s *store,
	change func(n int, d docs.Document, err error) (docs.Document, error, bool),
) {
	watch := s.watch
	s.watch = func(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
		return func(yield func(docs.Document, error) bool) {
			n := 0
			for d, err := range watch(ctx, key) {
				n++
				d, err, keep := change(n, d, err)
				if keep && !yield(d, err) {
					return
				}
			}
		}
	}
}

// spoilt is a store that breaks a rule.
type spoilt struct {
	spoil func(s *store)
	by    string // a check that must notice
}
