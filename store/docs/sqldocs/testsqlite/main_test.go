package testsqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/docstest"
	"github.com/probate-dev/probate/store/docs/sqldocs"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) { probetest.Run(m) }

var always = context.Background()

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openDB(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(10000)")
}

// handle is a store that can be closed and opened again underneath.
type handle struct {
	*sqldocs.Store
	db   *sql.DB
	path string
}

func (h *handle) open() error {
	var err error
	if h.db, err = openDB(h.path); err != nil {
		return err
	}
	h.Store, err = sqldocs.Open(always, h.db, h.path, sqldocs.Options{Poll: 20 * time.Millisecond})
	return err
}

func (h *handle) close() error {
	if err := h.Store.Close(); err != nil {
		return err
	}
	return h.db.Close()
}

func newStore(t testing.TB) *handle {
	t.Helper()
	h := &handle{path: filepath.Join(t.TempDir(), "data.db")}
	noError(t, h.open())
	t.Cleanup(func() {
		h.Store.Close()
		h.db.Close()
	})
	return h
}

// swap is what a child is told to do.
type swap struct {
	Path     string
	Key      string
	Expected docs.Version
	Value    json.RawMessage
	KillAt   int    // step before which it is killed; 0: never
	Fail     string // kind of calls that fail
}

func init() {
	// writer opens the database, and does one compare-and-swap.
	probetest.Register("writer", func(p *probetest.Peer) {
		var s swap
		p.Check(json.Unmarshal([]byte(p.Arg(0)), &s))
		h := &handle{path: s.Path}
		p.Check(h.open())
		if s.KillAt > 0 {
			_, err := crashtest.KillAt(s.KillAt)
			p.Check(err)
		}
		if s.Fail != "" {
			p.Check(crashtest.Fail(s.Fail, syscall.EIO))
		}
		if _, err := h.CompareAndSwap(always, s.Key, s.Expected, s.Value); err != nil {
			p.Send(strconv.Quote(err.Error()))
		} else {
			p.Send("ok")
		}
		p.Wait()
	})
}

// in lets another process do it, and returns its answer, "" when it was killed.
func (s swap) in(t testing.TB, h *handle) (answer string) {
	s.Path = h.path
	noError(t, h.close())
	arg, err := json.Marshal(s)
	noError(t, err)
	child := probetest.Start(t, "writer", string(arg))
	answer, _ = child.Next()
	child.Kill()
	noError(t, h.open()) // takes over by itself
	return answer
}

func TestConforms(t *testing.T) {
	opts := docstest.Options{
		Reopen: func(s docs.Store) (docs.Store, error) {
			h := s.(*handle)
			if err := h.close(); err != nil {
				return nil, err
			}
			return h, h.open()
		},
		Damage: func(s docs.Store, key string) error {
			_, err := s.(*handle).db.Exec(
				`UPDATE probate_docs SET value = '{"n":2}' WHERE doc_key = ?`, key)
			return err
		},
		Raw: func(s docs.Store, key string) (raw []byte, err error) {
			err = s.(*handle).db.QueryRow(`SELECT version || ' ' || value || ' ' || checksum
				FROM probate_docs WHERE doc_key = ?`, key).Scan(&raw)
			return raw, err
		},
	}
	if crashtest.Supported {
		opts.FailWrites = func(s docs.Store, key string, v docs.Version, value []byte) error {
			for _, kind := range []string{"write", "flush"} {
				what := swap{Key: key, Expected: v, Value: value, Fail: kind}
				if answer := what.in(t, s.(*handle)); answer == "ok" || answer == "" {
					return nil
				}
			}
			return syscall.EIO
		}
		opts.Interrupt = func(s docs.Store, key string, v docs.Version, value []byte, step int) (
			bool, error) {
			what := swap{Key: key, Expected: v, Value: value, KillAt: step}
			answer := what.in(t, s.(*handle))
			if answer != "ok" && answer != "" {
				return false, fmt.Errorf("the writer says %s", answer)
			}
			return answer == "ok", nil
		}
	}
	docstest.Run(t, func(t *testing.T) docs.Store { return newStore(t) }, opts)
}
