package testsqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/sqldocs"
)

// slow stops the writes of documents until they may go on: a process that was stopped right there.
type slow struct {
	stopped chan struct{} // told when a write waits
	goOn    chan struct{}
}

// slowStore opens a store whose next write stops after everything has been looked at.
func slowStore(t *testing.T, path string) (*sqldocs.Store, *slow) {
	s := &slow{stopped: make(chan struct{}), goOn: make(chan struct{})}
	db := sql.OpenDB(&hooked{path: path,
		write: func(carryOut func() (driver.Result, error)) (driver.Result, error) {
			s.stopped <- struct{}{}
			<-s.goOn
			return carryOut()
		}})
	t.Cleanup(func() { db.Close() })
	store, err := sqldocs.Open(always, db, path, sqldocs.Options{})
	noError(t, err)
	return store, s
}

func breakLock(t *testing.T, path string) {
	t.Helper()
	in, err := lockfile.Inspect(path, lockfile.Options{})
	noError(t, err)
	_, err = lockfile.Break(always, path, lockfile.BreakRequest{LockID: in.LockID, Reason: "test",
		EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
}

// A writer that has looked at everything, and is then overtaken, is refused by the database: in
// rows that the later writer has changed, in rows that it has not, and in such as do not exist. So
// is one whose tenure ended in good order, and whose write was still under way.
func TestLateWrites(t *testing.T) {
	for _, how := range []string{"broken", "released"} {
		for _, what := range []string{"swap", "create", "delete"} {
			t.Run(how+" "+what, func(t *testing.T) {
				h := newStore(t)
				_, err := h.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
				noError(t, err)
				noError(t, h.close())
				late, stop := slowStore(t, h.path)
				result := make(chan error)
				go func() {
					var err error
					switch what {
					case "swap":
						_, err = late.CompareAndSwap(always, "a", 1, []byte(`"late"`))
					case "create":
						_, err = late.CompareAndSwap(always, "b", docs.Absent, []byte(`"late"`))
					case "delete":
						err = late.Delete(always, "a", 1)
					}
					result <- err
				}()
				<-stop.stopped
				if how == "broken" {
					breakLock(t, h.path)
				} else {
					noError(t, late.Close())
				}
				noError(t, h.open()) // and it has not written anything yet
				if h.Token() <= late.Token() {
					t.Errorf("token %d after %d", h.Token(), late.Token())
				}
				close(stop.goOn)
				if err := <-result; !errors.Is(err, docs.ErrFenced) {
					t.Errorf("a late write: %v, want %v", err, docs.ErrFenced)
				} else if e, ok := errors.AsType[*docs.Error](err); !ok || e.Step == "" || e.Next == "" {
					t.Errorf("%v leaves something out", err)
				}
				d, err := h.Load(always, "a")
				if err != nil || d.Version != 1 || string(d.Value) != "1" {
					t.Errorf("%v, %v", d, err)
				}
				if keys, err := h.List(always); err != nil || len(keys) != 1 {
					t.Errorf("%q, %v", keys, err)
				}
			})
		}
	}
}

// A writer whose lock was taken away is refused before it asks the database.
func TestBrokenLock(t *testing.T) {
	h := newStore(t)
	_, err := h.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	breakLock(t, h.path)
	if _, err := h.CompareAndSwap(always, "a", 1, []byte("2")); !errors.Is(err, docs.ErrFenced) {
		t.Errorf("%v", err)
	}
	if d, err := h.Load(always, "a"); err != nil || d.Version != 1 {
		t.Errorf("%v, %v", d, err)
	}
}

// One process writes at a time: who lives is waited for, who died is not.
func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	other := lockfiletest.Held(t, path)
	db, err := openDB(path)
	noError(t, err)
	defer db.Close()
	ctx, stop := context.WithCancel(always)
	defer stop()
	_, err = sqldocs.Open(ctx, db, path, sqldocs.Options{Lock: lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { stop() }}})
	if !errors.Is(err, docs.ErrContended) {
		t.Errorf("beside a living writer: %v", err)
	}
	other.Kill()
	s, err := sqldocs.Open(always, db, path, sqldocs.Options{})
	noError(t, err)
	_, err = s.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)

	r, err := sqldocs.Reader(db, sqldocs.Options{})
	noError(t, err)
	if d, err := r.Load(always, "a"); err != nil || d.Version != 1 {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := r.CompareAndSwap(always, "a", 1, []byte("2")); !errors.Is(
		err,
		sqldocs.ErrReadOnly,
	) {
		t.Errorf("a reader wrote: %v", err)
	}
	noError(t, s.Close())
	if _, err := s.CompareAndSwap(always, "a", 1, []byte("2")); !errors.Is(
		err,
		lockfile.ErrReleased,
	) {
		t.Errorf("written after Close: %v", err)
	}
}

// A lock that hands out smaller tokens than the database has seen is not its lock.
func TestWrongLock(t *testing.T) {
	h := newStore(t)
	for range 3 {
		noError(t, h.close())
		noError(t, h.open())
	}
	noError(t, h.Store.Close())
	_, err := sqldocs.Open(always, h.db, filepath.Join(t.TempDir(), "other"), sqldocs.Options{})
	if !errors.Is(err, docs.ErrFenced) {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, opts := range []sqldocs.Options{{Table: "a b"}, {Table: "1a"}, {Table: "a;--"}, {Poll: -1}} {
		if _, err := sqldocs.Open(always, nil, "x", opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
		if _, err := sqldocs.Reader(nil, opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
	}
	path := filepath.Join(t.TempDir(), "data.db")
	db, err := openDB(path)
	noError(t, err)
	defer db.Close()
	s, err := sqldocs.Open(always, db, path, sqldocs.Options{Table: "notes"})
	noError(t, err)
	defer s.Close()
	_, err = s.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	var n int
	noError(t, db.QueryRow(`SELECT count(*) FROM notes WHERE fence = ?`, int64(s.Token())).Scan(&n))
	if n != 1 {
		t.Errorf("%d rows with the token", n)
	}
}
