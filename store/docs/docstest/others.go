package docstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/probate-dev/probate/internal/conform"
	"github.com/probate-dev/probate/store/docs"
)

func list(s docs.Store, _ Options) error {
	if err := lists(s); err != nil {
		return err
	}
	for _, key := range []string{"b", "c", "a", "10", "9"} {
		if _, err := put(s, key, docs.Absent, "1"); err != nil {
			return err
		}
	}
	if err := lists(s, "10", "9", "a", "b", "c"); err != nil {
		return err
	}
	if _, err := put(s, "b", 1, "2"); err != nil {
		return err
	}
	return lists(s, "10", "9", "a", "b", "c")
}

// listBesideWrites lists while documents are replaced, made and deleted.
func listBesideWrites(s docs.Store, _ Options) error {
	lasting := []string{"k0", "k1", "k2", "k3"}
	for _, key := range lasting {
		if _, err := put(s, key, docs.Absent, "0"); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(always)
	defer stop()
	var written atomic.Int64
	var running []<-chan error
	for _, key := range lasting {
		running = append(running, conform.Spawn(func() error {
			defer stop()
			for ctx.Err() == nil {
				if _, err := docs.Update(always, s, key, plusOne); err != nil {
					return err
				}
				written.Add(1)
			}
			return nil
		}))
	}
	running = append(running, conform.Spawn(func() error {
		defer stop()
		for ctx.Err() == nil {
			v, err := put(s, "passing", docs.Absent, "0")
			if err != nil {
				return err
			}
			if err := s.Delete(always, "passing", v); err != nil {
				return err
			}
		}
		return nil
	}))
	err := func() error {
		for n := 0; ctx.Err() == nil && (n < 40 || written.Load() < 60); n++ {
			got, err := s.List(always)
			if err != nil {
				return fmt.Errorf("List beside writes: %w", err)
			}
			for _, key := range lasting {
				if !slices.Contains(got, key) {
					return fmt.Errorf("List returned %q, without %q, which is there", got, key)
				}
			}
			if !slices.IsSorted(got) || len(slices.Compact(got)) != len(got) {
				return fmt.Errorf("List returned %q", got)
			}
		}
		return nil
	}()
	stop()
	return errors.Join(err, conform.All(running))
}

type told struct {
	d   docs.Document
	err error
}

// watch watches until stop is called.
func watch(s docs.Store, key string) (all <-chan told, stop func() error) {
	ctx, cancel := context.WithCancel(always)
	out := make(chan told)
	ended := conform.Spawn(func() error {
		for d, err := range s.Watch(ctx, key) {
			select {
			case out <- told{d, err}:
			case <-ctx.Done():
			}
		}
		return nil
	})
	return out, func() error { cancel(); return <-ended }
}

func watches(s docs.Store, _ Options) error {
	all, stop := watch(s, "a")
	gone := func(what string) error {
		if t := <-all; !errors.Is(t.err, docs.ErrMissing) || t.d.Key != "a" || t.d.Value != nil {
			return fmt.Errorf("the watch told %+v, %v of a document that %s", t.d, t.err, what)
		}
		return nil
	}
	is := func(version docs.Version, value string) error {
		t := <-all
		if t.err != nil || t.d.Key != "a" || t.d.Version != version || string(t.d.Value) != value {
			return fmt.Errorf("the watch told %+v, %v; want %v: %s", t.d, t.err, version, value)
		}
		return nil
	}
	err := func() error {
		if err := gone("was never there"); err != nil {
			return err
		}
		if _, err := put(s, "b", docs.Absent, "1"); err != nil { // of no interest
			return err
		}
		v, err := put(s, "a", docs.Absent, "1")
		if err != nil {
			return err
		}
		if err := is(v, "1"); err != nil {
			return err
		}
		if v, err = put(s, "a", v, "1"); err != nil { // a new version, though the same value
			return err
		}
		if err := is(v, "1"); err != nil {
			return err
		}
		if err := s.Delete(always, "a", v); err != nil {
			return err
		}
		if err := gone("was deleted"); err != nil {
			return err
		}
		if v, err = put(s, "a", docs.Absent, "3"); err != nil {
			return err
		}
		return is(v, "3")
	}()
	if err != nil {
		stop()
		return err
	}
	return stop()
}

// watchLast writes faster than the watch is read.
func watchLast(s docs.Store, _ Options) error {
	const last = 30
	all, stop := watch(s, "a")
	<-all
	for i := range last {
		if _, err := put(s, "a", docs.Version(i), fmt.Sprint(i+1)); err != nil {
			stop()
			return err
		}
	}
	seen := docs.Absent
	for seen < last {
		t := <-all
		if t.err != nil || t.d.Version <= seen ||
			string(t.d.Value) != fmt.Sprint(uint64(t.d.Version)) {
			stop()
			return fmt.Errorf("the watch told %+v, %v after %v", t.d, t.err, seen)
		}
		seen = t.d.Version
	}
	return stop()
}

func watchEnds(s docs.Store, _ Options) error {
	if _, err := put(s, "a", docs.Absent, "1"); err != nil {
		return err
	}
	for range s.Watch(always, "a") {
		break
	}
	ctx, cancel := context.WithCancel(always)
	defer cancel()
	n := 0
	for range s.Watch(ctx, "a") {
		n++
		cancel()
	}
	for range s.Watch(ctx, "a") {
		n++
	}
	if n != 1 {
		return fmt.Errorf("told %d times, and the context ended the first time", n)
	}
	return holds(s, "a", 1, "1")
}

var errCause = errors.New("the reason of the caller")

func contextEnds(s docs.Store, _ Options) error {
	if _, err := put(s, "a", docs.Absent, "1"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(always)
	cancel(errCause)
	_, loaded := s.Load(ctx, "a")
	_, swapped := s.CompareAndSwap(ctx, "a", 1, json.RawMessage("2"))
	_, listed := s.List(ctx)
	for what, err := range map[string]error{"Load": loaded, "CompareAndSwap": swapped,
		"Delete": s.Delete(ctx, "a", 1), "List": listed} {
		if !errors.Is(err, errCause) {
			return fmt.Errorf("%s with an ended context returned %v, want the cause", what, err)
		}
	}
	return holds(s, "a", 1, "1")
}

func errorsSay(s docs.Store, _ Options) error {
	if _, err := put(s, "a", docs.Absent, "1"); err != nil {
		return err
	}
	_, missing := s.Load(always, "b")
	_, stale := s.CompareAndSwap(always, "a", 5, json.RawMessage("2"))
	_, value := s.CompareAndSwap(always, "a", 1, json.RawMessage("-0"))
	_, key := s.Load(always, "/")
	for _, err := range []error{missing, stale, value, key, s.Delete(always, "a", 5)} {
		if err == nil {
			return errors.New("what must fail succeeded")
		}
		e, ok := errors.AsType[*docs.Error](err)
		if !ok {
			return fmt.Errorf("%v is a %T, and has no *docs.Error inside", err, err)
		}
		for what, word := range map[string]string{"operation": e.Op, "key": e.Key, "step": e.Step,
			"next step": e.Next} {
			if word == "" || !strings.Contains(err.Error(), word) {
				return fmt.Errorf("%v does not tell the %s", err, what)
			}
		}
	}
	return nil
}

func second(s docs.Store, opts Options) error {
	other, err := opts.Second(s)
	if err != nil {
		return fmt.Errorf("Second: %w", err)
	}
	if _, err := put(s, "a", docs.Absent, "1"); err != nil {
		return err
	}
	if err := holds(other, "a", 1, "1"); err != nil {
		return err
	}
	all, stop := watch(s, "a")
	<-all
	if _, err := put(other, "a", 1, "2"); err != nil {
		stop()
		return err
	}
	t := <-all
	if err := stop(); err != nil {
		return err
	}
	if t.err != nil || t.d.Version != 2 {
		return fmt.Errorf("the watch told %+v, %v of the other's write", t.d, t.err)
	}
	if err := holds(s, "a", 2, "2"); err != nil {
		return err
	}
	_, err = s.CompareAndSwap(always, "a", 1, json.RawMessage("3"))
	if err := conflicts(err, "CompareAndSwap", 1, 2); err != nil {
		return err
	}
	if err := s.Delete(always, "a", 2); err != nil {
		return err
	}
	return errors.Join(absent(other, "a"), lists(other))
}

func reopen(s docs.Store, opts Options) error {
	v, err := put(s, "a", docs.Absent, `{"n":1}`)
	if err != nil {
		return err
	}
	if _, err := put(s, "gone", docs.Absent, "1"); err != nil {
		return err
	}
	if err := s.Delete(always, "gone", 1); err != nil {
		return err
	}
	for range 3 {
		if s, err = opts.Reopen(s); err != nil {
			return fmt.Errorf("Reopen: %w", err)
		}
		err := errors.Join(holds(s, "a", v, `{"n":1}`), lists(s, "a"), absent(s, "gone"))
		if err != nil {
			return fmt.Errorf("after reopening: %w", err)
		}
		if v, err = put(s, "a", v, `{"n":1}`); err != nil {
			return err
		}
	}
	if v, err = put(s, "gone", docs.Absent, "2"); err != nil {
		return err
	}
	if v <= 1 {
		return errors.New("reopening took the memory of a deleted version away")
	}
	return nil
}
