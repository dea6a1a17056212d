package sqldocs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/docs"
)

// ErrReadOnly is returned by the writing methods of a store that was opened with Reader.
var ErrReadOnly = errors.New("this store was opened for reading only")

// Options say where and how to write. The zero value is right for most uses.
type Options struct {
	// Lock is how the lock is taken: its label, hooks, logger and limits. FreshToken is always set.
	Lock lockfile.Options
	// Table is the name of the table, probate_docs when empty; a second one, with _fence behind the
	// name, keeps the newest token. Letters, digits and _.
	Table string
	// Poll is how often Watch looks for writes of other processes, 500 ms when zero.
	Poll time.Duration
}

const (
	defaultTable = "probate_docs"
	defaultPoll  = 500 * time.Millisecond
)

func (o *Options) complete() error {
	if o.Table == "" {
		o.Table = defaultTable
	}
	for i, r := range o.Table {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') || len(o.Table) > 50 {
			return fmt.Errorf("Options.Table %q must be at most 50 letters, digits and _", o.Table)
		}
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Poll < 0 {
		return fmt.Errorf("Options.Poll %v is negative", o.Poll)
	}
	o.Lock.FreshToken = true
	return nil
}

// Store is a docs.Store in a database. Its methods are safe for concurrent use.
type Store struct {
	db   *sql.DB
	opts Options
	lock *lockfile.Lock // nil: reading only
	turn chan struct{}  // one writer at a time

	mu      sync.Mutex
	changed chan struct{} // closed at the next write of this store
}

var _ docs.Store = (*Store)(nil)

// Open takes the lock of the state path, which is usually the file of the database, waiting for
// other writers until ctx ends, creates what tables are missing, and returns the store. Close it
// when done; db stays the caller's.
func Open(ctx context.Context, db *sql.DB, state string, opts Options) (*Store, error) {
	if err := opts.complete(); err != nil {
		return nil, refused(state, err)
	}
	lock, err := lockfile.Acquire(ctx, state, opts.Lock)
	if err != nil {
		return nil, failed("open", "", state, "take the lock", err)
	}
	s := newStore(db, opts)
	s.lock = lock
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return s, nil
}

// Reader returns a store that reads what others write, and takes no lock. The tables must exist.
func Reader(db *sql.DB, opts Options) (*Store, error) {
	if err := opts.complete(); err != nil {
		return nil, refused("", err)
	}
	return newStore(db, opts), nil
}

func newStore(db *sql.DB, opts Options) *Store {
	return &Store{db: db, opts: opts, turn: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Close gives the lock back. Reading is still possible.
func (s *Store) Close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Release()
}

// Token returns the token of this tenure, 0 for readers.
func (s *Store) Token() fence.Token {
	if s.lock == nil {
		return 0
	}
	return s.lock.Token()
}

func refused(path string, err error) error {
	e := docs.Explain("open", "", path, "check the options", err)
	e.Next = "change the program"
	return e
}

func failed(op, key, path, step string, err error) error {
	return docs.Explain(op, key, path, step, err)
}

func (s *Store) failed(op, key, step string, err error) error {
	return failed(op, key, s.opts.Table, step, err)
}

// begin creates the tables, and tells the database that a new tenure has begun.
func (s *Store) begin(ctx context.Context) error {
	t := s.opts.Table
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS ` + t + ` (doc_key VARCHAR(120) NOT NULL PRIMARY KEY,
			version BIGINT NOT NULL, value TEXT, checksum CHAR(64) NOT NULL, fence BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS ` + t + `_fence (id INTEGER NOT NULL PRIMARY KEY,
			token BIGINT NOT NULL)`,
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return s.failed("open", "", "create the tables", err)
		}
	}
	token := int64(s.lock.Token())
	n, err := s.exec(
		ctx,
		`UPDATE `+t+`_fence SET token = ? WHERE id = 1 AND token < ?`,
		token,
		token,
	)
	if err == nil && n == 0 {
		_, err = s.exec(ctx, `INSERT INTO `+t+`_fence (id, token) SELECT 1, ? WHERE NOT EXISTS
			(SELECT 1 FROM `+t+`_fence WHERE id = 1)`, token)
	}
	if err != nil {
		return s.failed("open", "", "write the token", err)
	}
	now, err := s.newest(ctx)
	if err != nil {
		e := docs.Explain("open", "", t, "read the token", err)
		if errors.Is(err, docs.ErrCorrupt) {
			e.Next = s.mendToken()
		}
		return e
	}
	if now != s.lock.Token() {
		e := docs.Explain("open", "", t, "compare the token", fmt.Errorf(
			"%w: the database has seen %d, and the lock hands out %d", docs.ErrFenced, now, token))
		if now > s.lock.Token() {
			e.Next = "use the lock that was used before; if its fence was deleted, raise it"
		}
		return e
	}
	return nil
}

// newest returns the largest token that the database has seen.
func (s *Store) newest(ctx context.Context) (fence.Token, error) {
	var now int64
	found, err := s.one(ctx, `SELECT token FROM `+s.opts.Table+`_fence WHERE id = 1`, nil, &now)
	if err == nil && !found {
		err = fmt.Errorf("%w: the table %s_fence has lost its row", docs.ErrCorrupt, s.opts.Table)
	}
	return fence.Token(now), err
}

// mendToken says what to do about a table that does not say the newest token.
func (s *Store) mendToken() string {
	return fmt.Sprintf("put into %[1]s_fence the row with id 1 and, as its token, the largest "+
		"fence in %[1]s", s.opts.Table)
}

func (s *Store) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// List is explained at docs.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	if ctx.Err() != nil {
		return nil, s.failed("list", "", "begin", ended.Cause(ctx))
	}
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, s.failed("list", "", "read the table", caused(ctx, err))
	}
	slices.Sort(keys) // whatever order the database has
	return keys, nil
}

func (s *Store) keys(ctx context.Context) (keys []string, err error) {
	rows, err := s.db.QueryContext(ctx,
		`SELECT doc_key FROM `+s.opts.Table+` WHERE value IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		if docs.CheckKey(key) == nil { // else it is no document, and none of ours
			keys = append(keys, key)
		}
	}
	return keys, rows.Err()
}

// caused adds the cause of the context, which database/sql does not tell.
func caused(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", ended.Cause(ctx), err)
	}
	return err
}

// Watch is explained at docs.Store.
func (s *Store) Watch(ctx context.Context, key string) iter.Seq2[docs.Document, error] {
	return func(yield func(docs.Document, error) bool) {
		ticker := time.NewTicker(s.opts.Poll)
		defer ticker.Stop()
		var told docs.Watched
		for {
			s.mu.Lock()
			changed := s.changed
			s.mu.Unlock()
			d, err := s.Load(ctx, key)
			if ctx.Err() != nil || !told.Tell(key, d, err, yield) {
				return
			}
			select {
			case <-changed:
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}
}
