package testsqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/docs/sqldocs"
)

var errGone = errors.New("the connection is gone")

// cut is a connection that fails once at a write of a document, as one to a server far away may.
type cut struct {
	armed   bool
	carried bool   // the statement is carried out, and its answer lost
	deaf    bool   // questions are not answered after that either
	between func() // runs before the failure is told
	failed  bool
}

func (c *cut) write(carryOut func() (driver.Result, error)) (driver.Result, error) {
	if !c.armed || c.failed {
		return carryOut()
	}
	c.failed = true
	if c.carried {
		if _, err := carryOut(); err != nil {
			return nil, err
		}
	}
	if c.between != nil {
		c.between()
	}
	return nil, errGone
}

func (c *cut) ask() error {
	if c.failed && c.deaf {
		return errGone
	}
	return nil
}

// A statement whose answer is lost is looked for in the table: it is success where it stands there,
// a failure where it does not, and unsure only where nobody answers.
func TestLostAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		cut  cut
		want error // nil: it succeeds
		then string
	}{
		"carried out":         {cut{carried: true}, nil, "2"},
		"not carried out":     {cut{}, errGone, "1"},
		"carried out, deaf":   {cut{carried: true, deaf: true}, docs.ErrUnsure, "2"},
		"not carried, deaf":   {cut{deaf: true}, docs.ErrUnsure, "1"},
		"overtaken meanwhile": {cut{}, docs.ErrFenced, "1"},
	} {
		for _, op := range []string{"swap", "delete"} {
			t.Run(name+" "+op, func(t *testing.T) {
				h := newStore(t)
				_, err := h.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
				noError(t, err)
				noError(t, h.close())
				far := c.cut
				db := sql.OpenDB(&hooked{path: h.path, write: far.write, ask: far.ask})
				defer db.Close()
				store, err := sqldocs.Open(always, db, h.path, sqldocs.Options{})
				noError(t, err)
				if c.want == docs.ErrFenced {
					far.between = func() {
						breakLock(t, h.path)
						noError(t, h.open())
					}
				}
				far.armed = true
				if op == "swap" {
					var v docs.Version
					if v, err = store.CompareAndSwap(always, "a", 1, []byte("2")); err == nil && v != 2 {
						t.Errorf("version %d", v)
					}
				} else {
					err = store.Delete(always, "a", 1)
				}
				if !far.failed || !errors.Is(err, c.want) {
					t.Errorf("failed %v: %v, want %v", far.failed, err, c.want)
				}
				for _, other := range []error{docs.ErrUnsure, docs.ErrFenced, docs.ErrConflict} {
					if other != c.want && errors.Is(err, other) {
						t.Errorf("%v matches %v", err, other)
					}
				}
				if e, ok := errors.AsType[*docs.Error](err); err != nil && (!ok || e.Step == "" ||
					e.Key != "a") {
					t.Errorf("%v leaves something out", err)
				}
				far.failed, far.armed = false, false // it answers again
				want := c.then
				if op == "delete" && want == "2" {
					want = ""
				}
				var d docs.Document
				if d, err = store.Load(always, "a"); errors.Is(err, docs.ErrMissing) {
					err = nil
				}
				if noError(t, err); string(d.Value) != want {
					t.Errorf("there is %q, want %q", d.Value, want)
				}
				if c.want != docs.ErrFenced {
					noError(t, store.Close())
				}
			})
		}
	}
}
