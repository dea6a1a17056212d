package sqldocs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/store/docs"
)

// row is what is kept for a key. A deleted document has no value, and the version of its deletion.
type row struct {
	found    bool // there is a row
	version  docs.Version
	value    sql.NullString
	checksum string
	fence    fence.Token
}

// current is the version that the document has for its readers.
func (r row) current() docs.Version {
	if !r.value.Valid {
		return docs.Absent
	}
	return r.version
}

// read returns the row of a key, as it stands there. A row that holds something else than its
// columns are for is docs.ErrCorrupt.
func (s *Store) read(ctx context.Context, key string) (r row, err error) {
	var version, token int64
	r.found, err = s.one(ctx, `SELECT version, value, checksum, fence FROM `+s.opts.Table+
		` WHERE doc_key = ?`, []any{key}, &version, &r.value, &r.checksum, &token)
	if err != nil || !r.found {
		return row{}, err
	}
	r.version, r.fence = docs.Version(version), fence.Token(token)
	return r, nil
}

// one reads the one row of a query, if there is one. Values that do not fit are docs.ErrCorrupt:
// some databases keep any value in any column.
func (s *Store) one(ctx context.Context, query string, args []any, into ...any) (
	found bool, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(into...); err != nil {
		if ctx.Err() != nil || rows.Err() != nil {
			return false, err
		}
		return false, fmt.Errorf("%w: %w", docs.ErrCorrupt, err)
	}
	return true, rows.Close()
}

// check returns what is damaged about a row.
func (r row) check() error {
	if !r.found {
		return nil
	}
	if r.version == docs.Absent || r.version > docs.MaxVersion {
		return fmt.Errorf("%w: version %d", docs.ErrCorrupt, int64(r.version))
	}
	if int64(r.fence) < 0 {
		return fmt.Errorf("%w: fence %d", docs.ErrCorrupt, int64(r.fence))
	}
	var value []byte
	if r.value.Valid {
		canonical, err := docs.Canonical([]byte(r.value.String))
		if err != nil {
			return fmt.Errorf("%w: %w", docs.ErrCorrupt, err)
		}
		if value = canonical; string(canonical) != r.value.String {
			return fmt.Errorf("%w: the value is not in canonical form", docs.ErrCorrupt)
		}
	}
	if r.checksum != docs.Checksum(r.version, value) {
		return fmt.Errorf("%w: the checksum does not fit", docs.ErrCorrupt)
	}
	return nil
}

// ready checks what every call checks first.
func (s *Store) ready(ctx context.Context, op, key string) error {
	if ctx.Err() != nil {
		return s.failed(op, key, "begin", ended.Cause(ctx))
	}
	if err := docs.CheckKey(key); err != nil {
		return s.failed(op, key, "check the key", err)
	}
	return nil
}

// look reads the row of a key, and refuses one that is damaged.
func (s *Store) look(ctx context.Context, op, key string) (row, error) {
	if err := s.ready(ctx, op, key); err != nil {
		return row{}, err
	}
	r, err := s.read(ctx, key)
	if err != nil {
		return row{}, s.failed(op, key, "read the row", caused(ctx, err))
	}
	if err := r.check(); err != nil {
		return row{}, s.failed(op, key, "check the row", err)
	}
	return r, nil
}

// Load is explained at docs.Store.
func (s *Store) Load(ctx context.Context, key string) (docs.Document, error) {
	r, err := s.look(ctx, "load", key)
	if err != nil {
		return docs.Document{}, err
	}
	if r.current() == docs.Absent {
		return docs.Document{}, s.failed("load", key, "read the row", docs.ErrMissing)
	}
	return docs.Document{Key: key, Version: r.version, Value: json.RawMessage(r.value.String)}, nil
}

// CompareAndSwap is explained at docs.Store.
func (s *Store) CompareAndSwap(ctx context.Context, key string, expected docs.Version,
	value json.RawMessage) (docs.Version, error) {
	if err := s.ready(ctx, "swap", key); err != nil {
		return docs.Absent, err
	}
	canonical, err := docs.Canonical(value)
	if err != nil {
		return docs.Absent, s.failed("swap", key, "check the value", err)
	}
	return s.change(ctx, "swap", key, expected, canonical)
}

// Delete is explained at docs.Store.
func (s *Store) Delete(ctx context.Context, key string, expected docs.Version) error {
	_, err := s.change(ctx, "delete", key, expected, nil)
	return err
}

// change replaces the row of a document that has the version expected. No value deletes it.
func (s *Store) change(ctx context.Context, op, key string, expected docs.Version,
	value []byte) (docs.Version, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return docs.Absent, s.failed(op, key, "wait for this store's other writers",
			ended.Cause(ctx))
	}
	old, err := s.look(ctx, op, key)
	if err != nil {
		return docs.Absent, err
	}
	if old.current() != expected {
		return docs.Absent, s.failed(op, key, "compare the version",
			&docs.ConflictError{Key: key, Expected: expected, Current: old.current()})
	}
	if value == nil && expected == docs.Absent {
		return docs.Absent, s.failed(op, key, "read the row", docs.ErrMissing)
	}
	next := min(old.version+1, docs.MaxVersion)
	if value != nil && next == old.version {
		return docs.Absent, s.failed(op, key, "count the version", docs.ErrLastVersion)
	}
	if s.lock == nil {
		e := docs.Explain(op, key, s.opts.Table, "look at the lock", ErrReadOnly)
		e.Next = "open the store with Open, which takes the lock"
		return docs.Absent, e
	}
	if err := s.lock.Check(); err != nil {
		return docs.Absent, s.failed(op, key, "look at the lock", err)
	}
	now := row{found: true, version: next, fence: s.lock.Token(),
		value:    sql.NullString{String: string(value), Valid: value != nil},
		checksum: docs.Checksum(next, value)}
	if err := s.replace(ctx, op, key, old, now); err != nil {
		return docs.Absent, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return now.version, nil
}

// replace puts now in the place of old. The statement itself compares the row and the tokens: from
// the look until here anything may have happened.
func (s *Store) replace(ctx context.Context, op, key string, old, now row) error {
	t, token := s.opts.Table, int64(now.fence)
	var n int64
	var err error
	if !old.found {
		n, err = s.exec(ctx, `INSERT INTO `+t+` (doc_key, version, value, checksum, fence)
			SELECT ?, ?, ?, ?, ? FROM `+t+`_fence WHERE id = 1 AND token <= ?`,
			key, int64(now.version), now.value, now.checksum, token, token)
	} else {
		n, err = s.exec(ctx, `UPDATE `+t+` SET version = ?, value = ?, checksum = ?, fence = ?
			WHERE doc_key = ? AND version = ? AND checksum = ? AND fence <= ?
			AND EXISTS (SELECT 1 FROM `+t+`_fence WHERE id = 1 AND token <= ?)`,
			int64(now.version), now.value, now.checksum, token,
			key, int64(old.version), old.checksum, token, token)
	}
	if err == nil && n == 1 {
		return nil
	}
	return s.whyNot(ctx, op, key, old, now, err)
}

// whyNot finds out what has become of a statement that failed or changed nothing.
func (s *Store) whyNot(ctx context.Context, op, key string, old, now row, failure error) error {
	const step = "write the row"
	ctx = context.WithoutCancel(ctx)
	is, err := s.read(ctx, key)
	newest, tokenErr := s.newest(ctx)
	switch {
	case err != nil || tokenErr != nil:
		if failure == nil { // it compared, and changed nothing
			e := docs.Explain(op, key, s.opts.Table, step, errors.Join(err, tokenErr))
			if err == nil {
				e.Next = s.mendToken()
			}
			return e
		}
		return s.failed(op, key, step, fmt.Errorf("%w: %w", docs.ErrUnsure, failure))
	case failure != nil && is == now:
		return nil // it was carried out, and only its answer was lost
	case newest > now.fence || is.fence > now.fence:
		return s.failed(op, key, step, fmt.Errorf("%w: the database has seen token %d, this is %d",
			docs.ErrFenced, max(newest, is.fence), now.fence))
	case failure != nil:
		return s.failed(op, key, step, failure)
	}
	return s.failed(op, key, step,
		&docs.ConflictError{Key: key, Expected: old.current(), Current: is.current()})
}
