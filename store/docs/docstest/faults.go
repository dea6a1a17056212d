package docstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/probate-dev/probate/store/docs"
)

func damage(s docs.Store, opts Options) error {
	for _, key := range []string{"bad", "good"} {
		if _, err := put(s, key, docs.Absent, `{"n":1}`); err != nil {
			return err
		}
	}
	if err := opts.Damage(s, "bad"); err != nil {
		return fmt.Errorf("Damage: %w", err)
	}
	raw, err := opts.Raw(s, "bad")
	if err != nil {
		return fmt.Errorf("Raw: %w", err)
	}
	for _, expected := range []docs.Version{1, docs.Absent, 2} {
		d, loaded := s.Load(always, "bad")
		_, swapped := s.CompareAndSwap(always, "bad", expected, json.RawMessage("2"))
		deleted := s.Delete(always, "bad", expected)
		var watched error
		for _, watched = range s.Watch(always, "bad") {
			break
		}
		for what, err := range map[string]error{"Load": loaded, "CompareAndSwap": swapped,
			"Delete": deleted, "Watch": watched} {
			if !errors.Is(err, docs.ErrCorrupt) {
				return fmt.Errorf("%s of a damaged document returned %v, want %v", what, err,
					docs.ErrCorrupt)
			}
		}
		if d.Value != nil {
			return fmt.Errorf("Load returned %s of a damaged document", d.Value)
		}
		now, err := opts.Raw(s, "bad")
		if err != nil || !bytes.Equal(now, raw) {
			return fmt.Errorf("a damaged document was changed from %q to %q (%v)", raw, now, err)
		}
	}
	if err := lists(s, "bad", "good"); err != nil {
		return err
	}
	if _, err := put(s, "good", 1, "2"); err != nil {
		return fmt.Errorf("beside a damaged document: %w", err)
	}
	if _, err := put(s, "new", docs.Absent, "1"); err != nil {
		return fmt.Errorf("beside a damaged document: %w", err)
	}
	return errors.Join(holds(s, "good", 2, "2"), s.Delete(always, "good", 2))
}

func failing(s docs.Store, opts Options) error {
	if _, err := put(s, "a", docs.Absent, `"old"`); err != nil {
		return err
	}
	if err := opts.FailWrites(s, "a", 1, []byte(`"new"`)); err == nil {
		return errors.New("a write that could not be carried out was reported as done")
	}
	if err := opts.FailWrites(s, "b", docs.Absent, []byte(`"new"`)); err == nil {
		return errors.New("a creation that could not be carried out was reported as done")
	}
	if err := errors.Join(holds(s, "a", 1, `"old"`), absent(s, "b"), lists(s, "a")); err != nil {
		return fmt.Errorf("after a write that failed: %w", err)
	}
	if _, err := put(s, "a", 1, `"new"`); err != nil {
		return fmt.Errorf("after a write that failed: %w", err)
	}
	return holds(s, "a", 2, `"new"`)
}

// interrupt lets writers die that create a document, and others that replace one.
func interrupt(s docs.Store, opts Options) error {
	for step := 1; ; {
		created, err := interruptAt(s, opts, fmt.Sprint("create-", step), docs.Absent, step)
		if err != nil {
			return err
		}
		key := fmt.Sprint("replace-", step)
		if _, err := put(s, key, docs.Absent, `"old"`); err != nil {
			return err
		}
		replaced, err := interruptAt(s, opts, key, 1, step)
		if err != nil {
			return err
		}
		if created && replaced {
			return nil
		}
		if step++; opts.FewSteps {
			step += step / 2
		}
		if step > 1000 {
			return errors.New("a write has more than 1000 steps")
		}
	}
}

func interruptAt(s docs.Store, opts Options, key string, version docs.Version, step int) (
	done bool, err error) {
	if done, err = opts.Interrupt(s, key, version, []byte(`"new"`), step); err != nil {
		return done, fmt.Errorf("Interrupt: %w", err)
	}
	wrong := func(err error) (bool, error) {
		return done, fmt.Errorf(
			"%s: killed before step %d (not killed: %v): %w",
			key,
			step,
			done,
			err,
		)
	}
	d, err := s.Load(always, key)
	switch {
	case errors.Is(err, docs.ErrMissing) && version == docs.Absent && !done:
	case err != nil:
		return wrong(err)
	case d.Version == version && string(d.Value) == `"old"` && !done:
	case d.Version == version+1 && string(d.Value) == `"new"`:
	default:
		return wrong(fmt.Errorf("found %v: %s", d.Version, d.Value))
	}
	// Whoever comes next gets in, by itself.
	next, err := put(s, key, d.Version, `"next"`)
	if err == nil {
		err = holds(s, key, next, `"next"`)
	}
	if err != nil {
		return wrong(err)
	}
	keys, err := s.List(always)
	if err == nil && !slices.Contains(keys, key) {
		err = fmt.Errorf("List returned %q", keys)
	}
	if err == nil {
		err = s.Delete(always, key, next)
	}
	if err != nil {
		return wrong(err)
	}
	return done, nil
}
