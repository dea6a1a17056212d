package testsqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/sqldocs"
)

// A row that somebody else has written, of whatever types, is damaged for every operation, stays as
// it is, and keeps nobody from the others.
func TestDamagedRows(t *testing.T) {
	h := newStore(t)
	_, err := h.CompareAndSwap(always, "good", docs.Absent, []byte("1"))
	noError(t, err)
	sum := docs.Checksum(3, []byte("1"))
	for name, row := range map[string][]any{
		"version-text":     {"abc", "1", sum, 1},
		"version-half":     {3.5, "1", sum, 1},
		"version-zero":     {0, "1", docs.Checksum(0, []byte("1")), 1},
		"version-negative": {-1, "1", sum, 1},
		"version-large":    {1 << 53, "1", docs.Checksum(1<<53, []byte("1")), 1},
		"all-zero":         {0, nil, "", 0},
		"value-spaced":     {3, "1 ", sum, 1},
		"value-cut":        {3, "[1", sum, 1},
		"value-other":      {3, "2", sum, 1},
		"sum-bytes":        {3, "1", []byte{1, 2}, 1},
		"fence-text":       {3, "1", sum, "zzz"},
		"fence-negative":   {3, "1", sum, -5},
		"fence-large":      {3, "1", sum, "9223372036854775808"},
		"deleted-other":    {3, nil, sum, 1},
	} {
		_, err := h.db.Exec(`INSERT INTO probate_docs (doc_key, version, value, checksum, fence)
			VALUES (?, ?, ?, ?, ?)`, append([]any{name}, row...)...)
		noError(t, err)
		_, loaded := h.Load(always, name)
		_, created := h.CompareAndSwap(always, name, docs.Absent, []byte("2"))
		_, swapped := h.CompareAndSwap(always, name, 3, []byte("2"))
		var watched error
		for _, watched = range h.Watch(always, name) {
			break
		}
		for what, err := range map[string]error{"load": loaded, "create": created, "watch": watched,
			"swap": swapped, "delete": h.Delete(always, name, 3)} {
			if !errors.Is(err, docs.ErrCorrupt) {
				t.Errorf("%s: %s: %v, want %v", name, what, err, docs.ErrCorrupt)
			}
		}
		var same int
		noError(t, h.db.QueryRow(`SELECT count(*) FROM probate_docs WHERE doc_key = ?
			AND version IS ? AND value IS ? AND checksum IS ? AND fence IS ?`,
			append([]any{name}, columns(row)...)...).Scan(&same))
		if same != 1 {
			t.Errorf("%s was changed", name)
		}
	}
	_, err = h.CompareAndSwap(always, "good", 1, []byte("2"))
	noError(t, err)
}

// columns are values as SQLite keeps them in columns of those types.
func columns(row []any) []any {
	kept := slices.Clone(row)
	if kept[3] == "9223372036854775808" {
		kept[3] = 9223372036854775808.0
	}
	return kept
}

// A row whose key no document can have is none.
func TestRowsThatAreNoDocuments(t *testing.T) {
	h := newStore(t)
	for _, key := range []string{"a b", "", ".", "../x", "é", strings.Repeat("k", 121), "ok"} {
		_, err := h.db.Exec(`INSERT INTO probate_docs (doc_key, version, value, checksum, fence)
			VALUES (?, 1, '1', ?, 0)`, key, docs.Checksum(1, []byte("1")))
		noError(t, err)
	}
	if keys, err := h.List(always); err != nil || !slices.Equal(keys, []string{"ok"}) {
		t.Errorf("%q, %v", keys, err)
	}
}

// A table of tokens that says nothing lets nobody write, and says how to mend it.
func TestDamagedToken(t *testing.T) {
	for _, damage := range []string{`DELETE FROM probate_docs_fence`,
		`UPDATE probate_docs_fence SET token = 'junk'`} {
		h := newStore(t)
		_, err := h.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
		noError(t, err)
		_, err = h.db.Exec(damage)
		noError(t, err)
		for what, change := range map[string]func() error{
			"create": func() error {
				_, err := h.CompareAndSwap(always, "b", docs.Absent, []byte("1"))
				return err
			},
			"swap": func() error {
				_, err := h.CompareAndSwap(always, "a", 1, []byte("2"))
				return err
			},
			"delete": func() error { return h.Delete(always, "a", 1) },
		} {
			err := change()
			e, ok := errors.AsType[*docs.Error](err)
			if !errors.Is(err, docs.ErrCorrupt) || !ok ||
				!strings.Contains(e.Next, "probate_docs_fence") {
				t.Errorf("%s: %s: %v", damage, what, err)
			}
		}
		if d, err := h.Load(always, "a"); err != nil || d.Version != 1 {
			t.Errorf("%s: %v, %v", damage, d, err)
		}
	}
}

// After the last version there is none, but for that of a deletion.
func TestLastVersion(t *testing.T) {
	h := newStore(t)
	_, err := h.db.Exec(`INSERT INTO probate_docs (doc_key, version, value, checksum, fence)
		VALUES ('a', ?, '1', ?, 0)`, int64(docs.MaxVersion), docs.Checksum(docs.MaxVersion, []byte("1")))
	noError(t, err)
	if _, err := h.CompareAndSwap(always, "a", docs.MaxVersion, []byte("2")); !errors.Is(err,
		docs.ErrLastVersion) {
		t.Errorf("after the last one: %v", err)
	}
	noError(t, h.Delete(always, "a", docs.MaxVersion))
	if _, err := h.CompareAndSwap(always, "a", docs.Absent, []byte("2")); !errors.Is(err,
		docs.ErrLastVersion) {
		t.Errorf("after the last one was deleted: %v", err)
	}
}

// Who may not write is told by whom it can be done, and at which step it was.
func TestRefusedWriters(t *testing.T) {
	h := newStore(t)
	r, err := sqldocs.Reader(h.db, sqldocs.Options{})
	noError(t, err)
	_, err = r.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	if e, ok := errors.AsType[*docs.Error](err); !ok || !strings.Contains(e.Next, "Open") {
		t.Errorf("a reader: %v", err)
	}
	noError(t, h.Store.Close())
	_, err = h.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	if e, ok := errors.AsType[*docs.Error](err); !ok || e.Step == "" {
		t.Errorf("after Close: %v", err)
	}
	_, err = sqldocs.Open(always, h.db, filepath.Join(t.TempDir(), "x"), sqldocs.Options{Poll: -1})
	if e, ok := errors.AsType[*docs.Error](err); !ok || e.Next != "change the program" {
		t.Errorf("options: %v", err)
	}
}
