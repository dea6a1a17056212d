package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Memory is a Store in the memory of one process: for tests, and for what need not outlast it.
type Memory struct {
	mu      sync.Mutex
	kept    map[string]Document // a deleted one has no value, and the version of its deletion
	changed chan struct{}       // closed at the next change
}

// NewMemory returns a store without documents.
func NewMemory() *Memory {
	return &Memory{kept: map[string]Document{}, changed: make(chan struct{})}
}

// newest returns what is kept for a key, and its current version, which is Absent for a deleted
// one.
func (m *Memory) newest(key string) (Document, Version) {
	d := m.kept[key]
	if d.Value == nil {
		return d, Absent
	}
	return d, d.Version
}

// Load is explained at Store.
func (m *Memory) Load(ctx context.Context, key string) (Document, error) {
	if err := begin(ctx, opLoad, key, ""); err != nil {
		return Document{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, version := m.newest(key)
	if version == Absent {
		return Document{}, Explain(opLoad, key, "", "look it up", ErrMissing)
	}
	d.Value = bytes.Clone(d.Value)
	return d, nil
}

// CompareAndSwap is explained at Store.
func (m *Memory) CompareAndSwap(ctx context.Context, key string, expected Version,
	value json.RawMessage) (Version, error) {
	if err := begin(ctx, opSwap, key, ""); err != nil {
		return Absent, err
	}
	canonical, err := prepare(key, "", value)
	if err != nil {
		return Absent, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, current := m.newest(key)
	if current != expected {
		return Absent, conflict(opSwap, key, "", expected, current)
	}
	next, err := after(d.Version, key, "")
	if err != nil {
		return Absent, err
	}
	m.put(Document{Key: key, Version: next, Value: canonical})
	return next, nil
}

// Delete is explained at Store.
func (m *Memory) Delete(ctx context.Context, key string, expected Version) error {
	if err := begin(ctx, opDelete, key, ""); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d, current := m.newest(key)
	if current != expected {
		return conflict(opDelete, key, "", expected, current)
	}
	if current == Absent {
		return Explain(opDelete, key, "", "look it up", ErrMissing)
	}
	m.put(Document{Key: key, Version: min(d.Version+1, MaxVersion)})
	return nil
}

// put keeps d, and tells who watches.
func (m *Memory) put(d Document) {
	m.kept[d.Key] = d
	close(m.changed)
	m.changed = make(chan struct{})
}

// List is explained at Store.
func (m *Memory) List(ctx context.Context) ([]string, error) {
	if err := begin(ctx, opList, "", ""); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(m.kept)) {
		if _, version := m.newest(key); version != Absent {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Watch is explained at Store.
func (m *Memory) Watch(ctx context.Context, key string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		var told Watched
		for {
			m.mu.Lock()
			changed := m.changed
			m.mu.Unlock()
			d, err := m.Load(ctx, key)
			if ctx.Err() != nil || !told.Tell(key, d, err, yield) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Watched remembers what a watch has told last, for implementations of Store.Watch. The zero value
// has told nothing.
type Watched struct {
	any     bool
	version Version
	value   []byte
	failure string
}

// Tell yields what Load returned, unless that was told last. It returns false when the watch is
// over: yield said so, or the key can name no document.
func (w *Watched) Tell(key string, d Document, err error,
	yield func(Document, error) bool) bool {
	now := Watched{any: true, version: d.Version, value: d.Value}
	if err != nil {
		now = Watched{any: true, failure: err.Error()}
		d = Document{Key: key}
	}
	if w.any && w.version == now.version && w.failure == now.failure &&
		bytes.Equal(w.value, now.value) {
		return true
	}
	now.value = bytes.Clone(now.value)
	*w = now
	if !yield(d, err) {
		return false
	}
	return err == nil || CheckKey(key) == nil
}
