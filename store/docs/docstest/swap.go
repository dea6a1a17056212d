package docstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/probate-dev/probate/internal/conform"
	"github.com/probate-dev/probate/store/docs"
)

// put is a compare-and-swap that must succeed.
func put(s docs.Store, key string, expected docs.Version, value string) (docs.Version, error) {
	v, err := s.CompareAndSwap(always, key, expected, json.RawMessage(value))
	if err != nil {
		return v, fmt.Errorf("CompareAndSwap(%q, %v, %s): %w", key, expected, value, err)
	}
	return v, nil
}

// holds checks what a document is.
func holds(s docs.Store, key string, version docs.Version, value string) error {
	d, err := s.Load(always, key)
	if err != nil {
		return fmt.Errorf("Load(%q): %w", key, err)
	}
	if d.Key != key || d.Version != version || string(d.Value) != value {
		return fmt.Errorf("Load(%q) returned %q at %v: %s; want %v: %s", key, d.Key, d.Version,
			d.Value, version, value)
	}
	return nil
}

func absent(s docs.Store, key string) error {
	if d, err := s.Load(always, key); !errors.Is(err, docs.ErrMissing) {
		return fmt.Errorf("Load(%q) returned %v, %v, want %v", key, d, err, docs.ErrMissing)
	}
	return nil
}

// conflicts checks that err is a conflict with current.
func conflicts(err error, what string, expected, current docs.Version) error {
	c, ok := errors.AsType[*docs.ConflictError](err)
	if !ok || !errors.Is(err, docs.ErrConflict) {
		return fmt.Errorf("%s expecting %v, at %v: %v, want a *docs.ConflictError", what, expected,
			current, err)
	}
	if c.Expected != expected || c.Current != current {
		return fmt.Errorf("%s expecting %v, at %v: the conflict says %v and %v", what, expected,
			current, c.Expected, c.Current)
	}
	return nil
}

func missing(s docs.Store, _ Options) error {
	if err := absent(s, "a"); err != nil {
		return err
	}
	_, err := s.CompareAndSwap(always, "a", 1, json.RawMessage("1"))
	if err := conflicts(err, "CompareAndSwap", 1, docs.Absent); err != nil {
		return err
	}
	if err := conflicts(s.Delete(always, "a", 1), "Delete", 1, docs.Absent); err != nil {
		return err
	}
	if err := s.Delete(always, "a", docs.Absent); !errors.Is(err, docs.ErrMissing) {
		return fmt.Errorf("Delete of what is not there returned %v, want %v", err, docs.ErrMissing)
	}
	return absent(s, "a")
}

func create(s docs.Store, _ Options) error {
	v, err := put(s, "a", docs.Absent, ` {"b": 1, "a": [ ]} `)
	if err != nil {
		return err
	}
	if v != 1 {
		return fmt.Errorf("the first version is %v", v)
	}
	if err := holds(s, "a", 1, `{"a":[],"b":1}`); err != nil {
		return err
	}
	_, err = s.CompareAndSwap(always, "a", docs.Absent, json.RawMessage("2"))
	if err := conflicts(err, "CompareAndSwap", docs.Absent, 1); err != nil {
		return err
	}
	if err := holds(s, "a", 1, `{"a":[],"b":1}`); err != nil {
		return err
	}
	return absent(s, "b")
}

func stale(s docs.Store, _ Options) error {
	for i := range 3 {
		if _, err := put(s, "a", docs.Version(i), strconv.Itoa(i)); err != nil {
			return err
		}
	}
	for _, expected := range []docs.Version{0, 1, 2, 4, 5, 1 << 40, docs.MaxVersion - 1,
		docs.MaxVersion, docs.MaxVersion + 1, 1<<64 - 1} {
		_, err := s.CompareAndSwap(always, "a", expected, json.RawMessage(`"late"`))
		if err := conflicts(err, "CompareAndSwap", expected, 3); err != nil {
			return err
		}
		if err := conflicts(s.Delete(always, "a", expected), "Delete", expected, 3); err != nil {
			return err
		}
		if err := holds(s, "a", 3, "2"); err != nil {
			return fmt.Errorf("after a conflict: %w", err)
		}
	}
	if _, err := s.CompareAndSwap(always, "a", docs.MaxVersion, json.RawMessage("1")); err == nil {
		return errors.New("a version above the largest was handed out")
	}
	return holds(s, "a", 3, "2")
}

func versions(s docs.Store, _ Options) error {
	for i := range 20 {
		v, err := put(s, "a", docs.Version(i), "1") // the same value is a new version all the same
		if err != nil {
			return err
		}
		if v != docs.Version(i+1) {
			return fmt.Errorf("%v came after %v", v, docs.Version(i))
		}
		if err := holds(s, "a", v, "1"); err != nil {
			return err
		}
	}
	v, err := put(s, "b", docs.Absent, "1")
	if err == nil && v != 1 {
		return fmt.Errorf("the first version of another document is %v", v)
	}
	return err
}

// openings returns s and, where the options say how, a second opening of what it keeps.
func openings(s docs.Store, opts Options) ([]docs.Store, error) {
	if opts.Second == nil {
		return []docs.Store{s}, nil
	}
	other, err := opts.Second(s)
	if err != nil {
		return nil, fmt.Errorf("Second: %w", err)
	}
	return []docs.Store{s, other}, nil
}

const writers = 8

// oneWinner lets writers race for each of some versions.
func oneWinner(s docs.Store, opts Options) error {
	stores, err := openings(s, opts)
	if err != nil {
		return err
	}
	for round := range 6 {
		var won atomic.Int64
		won.Store(-1)
		start := make(chan struct{})
		var running []<-chan error
		for w := range writers {
			running = append(running, conform.Spawn(func() error {
				<-start
				v, err := stores[w%len(stores)].CompareAndSwap(always, "a", docs.Version(round),
					json.RawMessage(strconv.Itoa(w)))
				if err != nil {
					return conflicts(
						err,
						"CompareAndSwap",
						docs.Version(round),
						docs.Version(round+1),
					)
				}
				if v != docs.Version(round+1) {
					return fmt.Errorf("the winner has %v", v)
				}
				if !won.CompareAndSwap(-1, int64(w)) {
					return fmt.Errorf("two writers won against version %d", round)
				}
				return nil
			}))
		}
		close(start)
		if err := conform.All(running); err != nil {
			return err
		}
		if won.Load() < 0 {
			return fmt.Errorf("nobody won against version %d", round)
		}
		err := holds(s, "a", docs.Version(round+1), strconv.FormatInt(won.Load(), 10))
		if err != nil {
			return fmt.Errorf("what is there is not what the winner wrote: %w", err)
		}
	}
	return nil
}

func lostUpdate(s docs.Store, opts Options) error {
	const each = 12
	stores, err := openings(s, opts)
	if err != nil {
		return err
	}
	var running []<-chan error
	for w := range 4 {
		running = append(running, conform.Spawn(func() error {
			for range each {
				if _, err := docs.Update(always, stores[w%len(stores)], "n", plusOne); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err := conform.All(running); err != nil {
		return err
	}
	return holds(s, "n", 4*each, strconv.Itoa(4*each))
}

func plusOne(old docs.Document) (json.RawMessage, error) {
	n := 0
	if old.Version != docs.Absent {
		if err := json.Unmarshal(old.Value, &n); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(strconv.Itoa(n + 1)), nil
}

func deletes(s docs.Store, _ Options) error {
	for _, key := range []string{"a", "b", "c"} {
		if _, err := put(s, key, docs.Absent, "1"); err != nil {
			return err
		}
	}
	if err := s.Delete(always, "b", 1); err != nil {
		return fmt.Errorf("Delete: %w", err)
	}
	if err := absent(s, "b"); err != nil {
		return err
	}
	if err := conflicts(s.Delete(always, "b", 1), "Delete", 1, docs.Absent); err != nil {
		return err
	}
	if err := lists(s, "a", "c"); err != nil {
		return err
	}
	return errors.Join(holds(s, "a", 1, "1"), holds(s, "c", 1, "1"))
}

func lists(s docs.Store, want ...string) error {
	got, err := s.List(always)
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("List returned %q, want %q", got, want)
	}
	return nil
}

// deleteCreate is about who still holds a version from before.
func deleteCreate(s docs.Store, _ Options) error {
	var last docs.Version
	for round := range 4 {
		v, err := put(s, "a", docs.Absent, strconv.Itoa(round))
		if err != nil {
			return err
		}
		if v <= last {
			return fmt.Errorf("created again at %v, after %v", v, last)
		}
		for old := range v {
			if old == docs.Absent {
				continue
			}
			_, err := s.CompareAndSwap(always, "a", old, json.RawMessage(`"late"`))
			if err := conflicts(err, "CompareAndSwap", old, v); err != nil {
				return err
			}
		}
		if v, err = put(s, "a", v, `"second"`); err != nil {
			return err
		}
		if err := s.Delete(always, "a", v); err != nil {
			return fmt.Errorf("Delete: %w", err)
		}
		last = v
	}
	return absent(s, "a")
}
