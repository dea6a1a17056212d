package docstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/probate-dev/probate/store/docs"
)

// misbehavingStores break rules about keys, lists, watches and faults.
var misbehavingStores = map[string]spoilt{
	"does not accept constructor": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			if c.key == "constructor" {
				return 0, errors.New("already there")
			}
			return c.swap()
		})
	}, "keys"},
	"cuts long keys": {func(s *store) {
		short := func(key string) string { return key[:min(len(key), 100)] }
		list, swap, load, del := s.list, s.swap, s.load, s.del
		s.list = list
		s.swap = func(ctx context.Context, key string, v docs.Version,
			value json.RawMessage) (docs.Version, error) {
			return swap(ctx, short(key), v, value)
		}
		s.load = func(ctx context.Context, key string) (docs.Document, error) {
			return load(ctx, short(key))
		}
		s.del = func(ctx context.Context, key string, v docs.Version) error {
			return del(ctx, short(key), v)
		}
	}, "keys"},
	"takes paths for keys": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			return c.next.CompareAndSwap(always, strings.ReplaceAll(c.key, "/", "_"), c.v, c.value)
		})
	}, "refused-keys"},
	"takes two keys for one": {func(s *store) {
		swap, load := s.swap, s.load
		s.swap = func(ctx context.Context, key string, v docs.Version,
			value json.RawMessage) (docs.Version, error) {
			return swap(ctx, strings.ToLower(key), v, value)
		}
		s.load = func(ctx context.Context, key string) (docs.Document, error) {
			d, err := load(ctx, strings.ToLower(key))
			d.Key = key
			return d, err
		}
	}, "keys-case"},
	"lists without order": {func(s *store) {
		listed(s, func(keys []string) []string { slices.Reverse(keys); return keys })
	}, "list"},
	"lists what it does not have": {func(s *store) {
		listed(s, func(keys []string) []string { return append(keys, "zz") })
	}, "list"},
	"passes over what is being written": {func(s *store) {
		var written sync.Map // since the last list
		swapped(s, func(c call) (docs.Version, error) {
			if c.v > 0 {
				written.Store(c.key, true)
			}
			return c.swap()
		})
		listed(s, func(keys []string) []string {
			return slices.DeleteFunc(keys, func(key string) bool {
				_, is := written.LoadAndDelete(key)
				return is
			})
		})
	}, "list-beside-writes"},
	"watch does not tell what is there": {func(s *store) {
		watched(s, func(n int, d docs.Document, err error) (docs.Document, error, bool) {
			return d, err, n > 1
		})
	}, "watch-ends"},
	"watch does not tell deletions": {func(s *store) {
		watched(s, func(n int, d docs.Document, err error) (docs.Document, error, bool) {
			return d, err, n == 1 || err == nil
		})
	}, "watch"},
	"watch tells the same twice": {func(s *store) {
		watch := s.watch
		s.watch = func(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
			return func(yield func(docs.Document, error) bool) {
				for d, err := range watch(ctx, key) {
					for range 2 {
						if !yield(d, err) {
							return
						}
					}
				}
			}
		}
	}, "watch"},
	"watch misses the last one": {func(s *store) {
		watched(s, func(n int, d docs.Document, err error) (docs.Document, error, bool) {
			return d, err, d.Version != 30
		})
	}, "watch-last"},
	"watch goes on after its context": {func(s *store) {
		watch := s.watch
		s.watch = func(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
			return watch(context.WithoutCancel(ctx), key)
		}
	}, "watch-ends"},
	"writes after the context has ended": {func(s *store) {
		swap := s.swap
		s.swap = func(ctx context.Context, key string, v docs.Version,
			value json.RawMessage) (docs.Version, error) {
			got, err := swap(context.WithoutCancel(ctx), key, v, value)
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return got, err
		}
	}, "context"},
	"hides the cause": {func(s *store) {
		list := s.list
		s.list = func(ctx context.Context) ([]string, error) {
			keys, err := list(ctx)
			if err != nil {
				err = errors.New("could not list")
			}
			return keys, err
		}
	}, "context"},
	"says only that it failed": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			got, err := c.swap()
			if errors.Is(err, docs.ErrValue) {
				err = docs.ErrValue
			}
			return got, err
		})
	}, "errors"},
	"a second opening is another store": {func(s *store) {
		s.second = func() docs.Store { return docs.NewMemory() }
	}, "second"},
	"a second opening has an old view": {func(s *store) {
		s.second = func() docs.Store {
			old := map[string]docs.Document{}
			view := *s
			view.load = func(ctx context.Context, key string) (docs.Document, error) {
				d, err := s.load(ctx, key)
				if was, ok := old[key]; ok && err != nil {
					return was, nil
				}
				old[key] = d
				return d, err
			}
			return &view
		}
	}, "second"},
	"forgets on reopen": {func(s *store) {
		s.reopen = func() docs.Store { return good() }
	}, "reopen"},
	"returns damaged values": {func(s *store) {
		load := s.load
		s.load = func(ctx context.Context, key string) (docs.Document, error) {
			d, err := load(ctx, key)
			if errors.Is(err, docs.ErrCorrupt) {
				return docs.Document{Key: key, Version: 1, Value: json.RawMessage("null")}, nil
			}
			return d, err
		}
	}, "damage"},
	"overwrites what is damaged": {func(s *store) {
		swapped(s, func(c call) (docs.Version, error) {
			got, err := c.swap()
			if errors.Is(err, docs.ErrCorrupt) {
				s.damaged.Store(c.key, []byte("new"))
			}
			return got, err
		})
	}, "damage"},
	"takes what is damaged for missing": {func(s *store) {
		loaded(s, func(d docs.Document, err error) (docs.Document, error) {
			if errors.Is(err, docs.ErrCorrupt) {
				err = docs.ErrMissing
			}
			return d, err
		})
	}, "damage"},
	"lets one damaged document block all": {func(s *store) {
		list := s.list
		s.list = func(ctx context.Context) ([]string, error) {
			var err error
			s.damaged.Range(func(any, any) bool { err = docs.ErrCorrupt; return false })
			if err != nil {
				return nil, err
			}
			return list(ctx)
		}
	}, "damage"},
	"reports a failed write as done": {func(s *store) {
		s.failWrite = func(string, docs.Version, []byte) error { return nil }
	}, "fail"},
	"a failed write is there all the same": {func(s *store) {
		s.failWrite = func(key string, v docs.Version, value []byte) error {
			s.swap(always, key, v, value)
			return errDisk
		}
	}, "fail"},
	"a failed write takes the old version away": {func(s *store) {
		s.failWrite = func(key string, v docs.Version, _ []byte) error {
			if v != docs.Absent {
				s.del(always, key, v)
			}
			return errDisk
		}
	}, "fail"},
	"a killed writer leaves a guard for ever": {func(s *store) {
		guarded := map[string]bool{}
		interrupt := s.interrupt
		s.interrupt = func(key string, v docs.Version, value []byte, step int) (bool, error) {
			done, err := interrupt(key, v, value, step)
			guarded[key] = step == 2
			return done, err
		}
		swapped(s, func(c call) (docs.Version, error) {
			if guarded[c.key] {
				return 0, docs.Explain("swap", c.key, "", "take the guard",
					&docs.ConflictError{Key: c.key, Expected: c.v, Current: c.v})
			}
			return c.swap()
		})
	}, "interrupt"},
	"a killed writer leaves half of a value": {func(s *store) {
		interrupt := s.interrupt
		s.interrupt = func(key string, v docs.Version, value []byte, step int) (bool, error) {
			if step == 2 {
				s.damaged.Store(key, []byte("half"))
				return false, nil
			}
			return interrupt(key, v, value, step)
		}
	}, "interrupt"},
	"a killed writer takes the old version away": {func(s *store) {
		interrupt := s.interrupt
		s.interrupt = func(key string, v docs.Version, value []byte, step int) (bool, error) {
			if step == 2 && v != docs.Absent {
				return false, s.del(always, key, v)
			}
			return interrupt(key, v, value, step)
		}
	}, "interrupt"},
	"an acknowledged write is not there": {func(s *store) {
		s.interrupt = func(string, docs.Version, []byte, int) (bool, error) { return true, nil }
	}, "interrupt"},
	"panics": {func(s *store) {
		s.list = func(context.Context) ([]string, error) { panic("oh") }
	}, "list"},
}

// Every rule is noticed when it is broken, by the check that is about it.
func TestMisbehaving(t *testing.T) {
	if errs := Check(func() (docs.Store, error) { return good(), nil }, options()); len(errs) > 0 {
		t.Fatalf("the store that the others are made of: %v", errs)
	}
	noticed := map[string]bool{}
	all := maps.Clone(misbehavingSwaps)
	maps.Copy(all, misbehavingStores)
	for name, c := range all {
		i := slices.IndexFunc(checks, func(k check) bool { return k.name == c.by })
		if i < 0 {
			t.Fatalf("%s: there is no check %s", name, c.by)
		}
		opts := options()
		if strings.HasPrefix(c.by, "watch") { // some of them are noticed by waiting in vain
			opts.Patience = 2 * time.Second
		}
		// What goes wrong only beside a write under way shows itself when the two meet.
		var err error
		for try := 0; err == nil && try < 20; try++ {
			s := good()
			c.spoil(s)
			err = run(checks[i], s, opts)
		}
		if err == nil {
			t.Errorf("%s: %s did not notice", name, c.by)
		} else {
			t.Logf("%s: %.150v", name, fmt.Sprint(err))
		}
		noticed[c.by] = true
	}
	for _, c := range checks {
		if !noticed[c.name] {
			t.Errorf("no store here breaks the rule of %s", c.name)
		}
	}
}
