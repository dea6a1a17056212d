package docstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/probate-dev/probate/store/docs"
)

// misbehavingSwaps break rules about single documents.
var misbehavingSwaps = map[string]spoilt{
	"returns nothing for what is missing": {func(s *store) {
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			if errors.Is(err, docs.ErrMissing) {
				return docs.Document{}, nil
			}
			return d, err
		})
	}, "missing"},
	"begins at version 0": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			v, err := c.swap()
			return v - 1, err
		})
	}, "create"},
	"creates over what is there": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			if d, err := c.next.Load(always, c.key); err == nil && c.v == docs.Absent {
				c.v = d.Version
			}
			return c.swap()
		})
	}, "create"},
	"does not compare": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			if d, err := c.next.Load(always, c.key); err == nil {
				c.v = d.Version
			}
			return c.swap()
		})
	}, "stale"},
	"takes a version that is yet to come": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			if d, err := c.next.Load(always, c.key); err == nil && c.v > d.Version {
				c.v = d.Version
			}
			return c.swap()
		})
	}, "stale"},
	"says conflict, and not with what": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			got, err := c.swap()
			if e, ok := errors.AsType[*docs.ConflictError](err); ok {
				e.Current = e.Expected
			}
			return got, err
		})
	}, "stale"},
	"says conflict, and writes": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			got, err := c.swap()
			if e, ok := errors.AsType[*docs.ConflictError](err); ok {
				c.next.CompareAndSwap(always, c.key, e.Current, c.value)
			}
			return got, err
		})
	}, "stale"},
	"deletes whatever is expected": {func(s *store) {
		del := s.del
		s.del = func(ctx context.Context, key string, v docs.Version) error {
			if d, err := s.load(ctx, key); err == nil {
				v = d.Version
			}
			return del(ctx, key, v)
		}
	}, "stale"},
	"keeps the version where the value is the same": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			if d, err := c.next.Load(always, c.key); err == nil && d.Version == c.v &&
				bytes.Equal(d.Value, c.value) {
				return c.v, nil
			}
			return c.swap()
		})
	}, "versions"},
	"compares and swaps in two steps": {func(s *store) {
		var mu sync.Mutex
		met, passed := map[docs.Version]chan struct{}{}, map[docs.Version]int{}
		swapped(s, func(c call) (docs.Version, error) {
			d, err := c.next.Load(always, c.key)
			if err == nil && d.Version != c.v {
				return 0, docs.Explain("swap", c.key, "", "compare",
					&docs.ConflictError{Key: c.key, Expected: c.v, Current: d.Version})
			}
			mu.Lock()
			second, waiting := met[c.v]
			if !waiting {
				met[c.v] = make(chan struct{})
				second = met[c.v]
			} else if n := passed[c.v]; n == 0 {
				passed[c.v]++
				close(second)
			}
			mu.Unlock()
			<-second // until somebody else has compared too
			got, err := c.swap()
			if e, ok := errors.AsType[*docs.ConflictError](err); ok && e.Current == c.v+1 {
				return c.v + 1, nil
			}
			return got, err
		})
	}, "one-winner"},
	"loses an update now and then": {func(s *store) {
		n := 0
		var mu sync.Mutex
		swapped(s, func(c call) (docs.Version, error) {
			mu.Lock()
			n++
			lose := c.key == "n" && n == 10
			mu.Unlock()
			if lose {
				return c.v + 1, nil
			}
			return c.swap()
		})
	}, "lost-update"},
	"deletes nothing": {func(s *store) {
		del := s.del
		s.del = func(ctx context.Context, key string, v docs.Version) error {
			if d, err := s.load(ctx, key); err == nil && d.Version == v {
				return nil
			}
			return del(ctx, key, v)
		}
	}, "delete"},
	"forgets how far a deleted document had come": {func(s *store) {
		base := map[string]docs.Version{} // what the versions told are less than the real ones
		var mu sync.Mutex
		load, swap, del := s.load, s.swap, s.del
		off := func(key string) docs.Version { mu.Lock(); defer mu.Unlock(); return base[key] }
		s.load = func(ctx context.Context, key string) (docs.Document, error) {
			d, err := load(ctx, key)
			if err == nil {
				d.Version -= off(key)
			}
			return d, err
		}
		s.swap = func(ctx context.Context, key string, v docs.Version,
			value json.RawMessage) (docs.Version, error) {
			if v != docs.Absent {
				v += off(key)
			}
			got, err := swap(ctx, key, v, value)
			if err == nil {
				got -= off(key)
			}
			return got, err
		}
		s.del = func(ctx context.Context, key string, v docs.Version) error {
			err := del(ctx, key, v+off(key))
			if err == nil {
				mu.Lock()
				base[key] += v + 1
				mu.Unlock()
			}
			return err
		}
	}, "delete-create"},
	"hands its own copy out": {func(s *store) {
		cache := map[string]docs.Document{}
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			if c, ok := cache[d.Key]; ok && c.Version == d.Version {
				return c, err
			}
			cache[d.Key] = d
			return d, err
		})
	}, "copies"},
	"keeps the caller's slice": {func(s *store) {
		given := map[string]json.RawMessage{}
		swapped(s, func(c call) (docs.Version, error) {
			given[c.key] = c.value
			return c.swap()
		})
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			if err == nil && given[d.Key] != nil {
				d.Value = given[d.Key]
			}
			return d, err
		})
	}, "copies"},
	"keeps numbers as floating point in its own way": {func(s *store) {
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			d.Value = bytes.ReplaceAll(d.Value, []byte("1e+21"), []byte("1000000000000000000000"))
			return d, err
		})
	}, "values"},
	"escapes for HTML": {func(s *store) {
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			d.Value = bytes.ReplaceAll(d.Value, []byte("<"), []byte(`\u003c`))
			return d, err
		})
	}, "values"},
	"rounds large integers": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			c.value = bytes.ReplaceAll(
				c.value,
				[]byte("9007199254740993"),
				[]byte("9007199254740992"),
			)
			return c.swap()
		})
	}, "refused-values"},
	"mends text": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			return c.next.CompareAndSwap(
				always,
				c.key,
				c.v,
				bytes.ToValidUTF8(c.value, []byte("\ufffd")),
			)
		})
	}, "refused-values"},
}
