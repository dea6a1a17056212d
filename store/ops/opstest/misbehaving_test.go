package opstest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/store/ops"
)

// bad is a store made of a good one and of what is wrong with it.
type bad struct {
	ops.Store
	begin func(good ops.Store, r ops.Request) (ops.Operation, bool, error)
	get   func(good ops.Store, id string) (ops.Operation, error)
	swap  func(good ops.Store, id string, rev ops.Revision, c ops.Change) (ops.Operation,
		error)
	own func(good ops.Store, id string, rev ops.Revision, r []ops.Resource) (ops.Operation,
		error)
	effects func(good ops.Store, id string, rev ops.Revision, e []ops.Effect) (ops.Operation,
		error)
	accept      func(good ops.Store, r ops.Receipt) (ops.Operation, bool, error)
	claim       func(good ops.Store, id string, rev ops.Revision) (ops.Operation, error)
	recoverable func(good ops.Store) iter.Seq2[ops.Recovery, error]
	all         func(good ops.Store) iter.Seq2[ops.Operation, error]
	archive     func(good ops.Store, environments []string) (int, error)
	deaf        bool // to contexts
}

func (b *bad) context(ctx context.Context) context.Context {
	if b.deaf {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (b *bad) Begin(ctx context.Context, r ops.Request) (ops.Operation, bool, error) {
	if b.begin != nil {
		return b.begin(b.Store, r)
	}
	return b.Store.Begin(b.context(ctx), r)
}

func (b *bad) Get(id string) (ops.Operation, error) {
	if b.get != nil {
		return b.get(b.Store, id)
	}
	return b.Store.Get(id)
}

func (b *bad) CompareAndSwap(ctx context.Context, id string, rev ops.Revision, c ops.Change) (
	ops.Operation, error) {
	if b.swap != nil {
		return b.swap(b.Store, id, rev, c)
	}
	return b.Store.CompareAndSwap(b.context(ctx), id, rev, c)
}

func (b *bad) RecordOwned(ctx context.Context, id string, rev ops.Revision, r ...ops.Resource) (
	ops.Operation, error) {
	if b.own != nil {
		return b.own(b.Store, id, rev, r)
	}
	return b.Store.RecordOwned(b.context(ctx), id, rev, r...)
}

func (b *bad) RecordEffects(ctx context.Context, id string, rev ops.Revision, e ...ops.Effect) (
	ops.Operation, error) {
	if b.effects != nil {
		return b.effects(b.Store, id, rev, e)
	}
	return b.Store.RecordEffects(ctx, id, rev, e...)
}

func (b *bad) Accept(ctx context.Context, r ops.Receipt) (ops.Operation, bool, error) {
	if b.accept != nil {
		return b.accept(b.Store, r)
	}
	return b.Store.Accept(ctx, r)
}

func (b *bad) Claim(ctx context.Context, id string, rev ops.Revision, t ops.Takeover) (
	ops.Operation, error) {
	if b.claim != nil {
		return b.claim(b.Store, id, rev)
	}
	return b.Store.Claim(ctx, id, rev, t)
}

func (b *bad) Recoverable() iter.Seq2[ops.Recovery, error] {
	if b.recoverable != nil {
		return b.recoverable(b.Store)
	}
	return b.Store.Recoverable()
}

func (b *bad) All() iter.Seq2[ops.Operation, error] {
	if b.all != nil {
		return b.all(b.Store)
	}
	return b.Store.All()
}

func (b *bad) ArchiveFinished(ctx context.Context, environments ...string) (int, error) {
	if b.archive != nil {
		return b.archive(b.Store, environments)
	}
	return b.Store.ArchiveFinished(ctx, environments...)
}

// stale takes whatever revision there is.
func stale(good ops.Store, id string, rev ops.Revision, c ops.Change) (ops.Operation, error) {
	op, err := good.CompareAndSwap(ctx, id, rev, c)
	if e, ok := errors.AsType[*ops.Error](err); ok && errors.Is(err, ops.ErrStale) {
		return good.CompareAndSwap(ctx, id, e.Current.Revision, c)
	}
	return op, err
}

// remembered keeps what a method returned first.
func remembered() func(good ops.Store, id string) (ops.Operation, error) {
	var mu sync.Mutex
	first := map[string]ops.Operation{}
	return func(good ops.Store, id string) (ops.Operation, error) {
		mu.Lock()
		defer mu.Unlock()
		if op, ok := first[id]; ok {
			return op, nil
		}
		op, err := good.Get(id)
		if err == nil {
			first[id] = op
		}
		return op, err
	}
}

var misbehaving = map[string]struct {
	store bad
	by    string // the check that must notice
}{
	"begins the same request again under another id": {bad{begin: func(g ops.Store,
		r ops.Request) (ops.Operation, bool, error) {
		op, _, err := g.Begin(ctx, r)
		return op, err == nil, err
	}}, "begin"},
	"takes another request for the same": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, begun, err := g.Begin(ctx, r)
		if errors.Is(err, ops.ErrConflict) {
			op, err = g.Get(r.ID)
		}
		return op, begun, err
	}}, "begin-conflict"},
	"has no idea of environments": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, begun, err := g.Begin(ctx, r)
		for n := 0; errors.Is(err, ops.ErrBusy); n++ {
			r.Environment += "'"
			op, begun, err = g.Begin(ctx, r)
		}
		return op, begun, err
	}}, "begin-busy"},
	"lets several win": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, begun, err := g.Begin(ctx, r)
		return op, begun || errors.Is(err, ops.ErrBusy), err
	}}, "begin-race"},
	"loses archived requests": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, begun, err := g.Begin(ctx, r)
		if op.Archived {
			return ops.Operation{}, false, ops.ErrNotFound
		}
		return op, begun, err
	}}, "begin"},
	"all who ask have begun": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, _, err := g.Begin(ctx, r)
		return op, true, err
	}}, "begin-same-race"},
	"takes an empty id": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		if r.ID == "" {
			r.ID = "empty"
		}
		return g.Begin(ctx, r)
	}}, "arguments"},
	"folds names": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		r.ID = strings.ToLower(r.ID)
		return g.Begin(ctx, r)
	}}, "names"},
	"knows constructor": {bad{accept: func(g ops.Store, r ops.Receipt) (ops.Operation, bool, error) {
		if r.Nonce == "constructor" || r.Nonce == "__proto__" {
			return ops.Operation{}, false, ops.ErrNonceSpent
		}
		return g.Accept(ctx, r)
	}}, "nonces"},
	"rounds numbers": {bad{begin: func(g ops.Store, r ops.Request) (ops.Operation, bool, error) {
		op, begun, err := g.Begin(ctx, r)
		if string(op.Data) == "12345678901234567890123" {
			op.Data = []byte("1.2345678901234568e+22")
		}
		return op, begun, err
	}}, "exact"},
	"hands out its own":       {bad{get: remembered()}, "copies"},
	"swaps from any revision": {bad{swap: stale}, "swap"},
	"loses updates":           {bad{swap: stale}, "swap-race"},
	"does not let the revision grow": {bad{swap: func(g ops.Store, id string, rev ops.Revision,
		c ops.Change) (ops.Operation, error) {
		op, err := g.CompareAndSwap(ctx, id, rev, c)
		op.Revision = min(op.Revision, rev)
		return op, err
	}}, "swap"},
	"acknowledges and forgets": {bad{swap: func(g ops.Store, id string, rev ops.Revision,
		c ops.Change) (ops.Operation, error) {
		op, err := g.Get(id)
		op.Revision++
		return op, err
	}}, "swap"},
	"goes to any phase": {bad{swap: func(g ops.Store, id string, rev ops.Revision,
		c ops.Change) (ops.Operation, error) {
		op, err := g.CompareAndSwap(ctx, id, rev, c)
		if errors.Is(err, ops.ErrPhase) {
			return g.CompareAndSwap(ctx, id, rev, ops.Change{Data: c.Data})
		}
		return op, err
	}}, "phases"},
	"owns what was there before": {bad{own: func(g ops.Store, id string, rev ops.Revision,
		r []ops.Resource) (ops.Operation, error) {
		op, err := g.RecordOwned(ctx, id, rev, r...)
		if errors.Is(err, ops.ErrConflict) {
			return g.Get(id)
		}
		return op, err
	}}, "own"},
	"forgets what it owns": {bad{own: func(g ops.Store, id string, rev ops.Revision,
		r []ops.Resource) (ops.Operation, error) {
		op, err := g.RecordOwned(ctx, id, rev, r...)
		op.Owned = nil
		return op, err
	}}, "own"},
	"sends anything under one key": {bad{effects: func(g ops.Store, id string, rev ops.Revision,
		e []ops.Effect) (ops.Operation, error) {
		op, err := g.RecordEffects(ctx, id, rev, e...)
		if errors.Is(err, ops.ErrConflict) {
			return g.Get(id)
		}
		return op, err
	}}, "effects"},
	"counts the log tail": {bad{accept: func(g ops.Store, r ops.Receipt) (ops.Operation, bool, error) {
		r.Outcome = []byte(`"` + r.LogTail + `"`)
		return g.Accept(ctx, r)
	}}, "receipts"},
	"takes any receipt for a duplicate": {bad{accept: func(g ops.Store, r ops.Receipt) (ops.Operation, bool, error) {
		op, duplicate, err := g.Accept(ctx, r)
		if errors.Is(err, ops.ErrNonceSpent) {
			op, err = g.Get(r.Operation)
			return op, true, err
		}
		return op, duplicate, err
	}}, "receipts"},
	"takes a receipt again and again": {bad{accept: func(g ops.Store, r ops.Receipt) (ops.Operation, bool, error) {
		op, _, err := g.Accept(ctx, r)
		return op, false, err
	}}, "receipts-race"},
	"forgets follow-ups": {bad{swap: func(g ops.Store, id string, rev ops.Revision,
		c ops.Change) (ops.Operation, error) {
		c.FollowUp = nil
		return g.CompareAndSwap(ctx, id, rev, c)
	}}, "follow-up"},
	"calls the living gone": {bad{recoverable: func(g ops.Store) iter.Seq2[ops.Recovery, error] {
		return func(yield func(ops.Recovery, error) bool) {
			for r, err := range g.Recoverable() {
				r.Finding.Verdict = identity.Gone
				if !yield(r, err) {
					return
				}
			}
		}
	}}, "recoverable"},
	"recovers what is finished": {bad{recoverable: func(g ops.Store) iter.Seq2[ops.Recovery, error] {
		return func(yield func(ops.Recovery, error) bool) {
			for op, err := range g.All() {
				if !yield(ops.Recovery{Operation: op}, err) {
					return
				}
			}
		}
	}}, "recoverable"},
	"claims from any revision": {bad{claim: func(g ops.Store, id string, _ ops.Revision) (ops.Operation, error) {
		return g.Get(id)
	}}, "recoverable"},
	"archives nothing": {bad{archive: func(ops.Store, []string) (int, error) { return 0, nil }}, "archive"},
	"archives beside the unfinished": {bad{archive: func(g ops.Store, environments []string) (int, error) {
		n, err := g.ArchiveFinished(ctx, environments...)
		if errors.Is(err, ops.ErrBusy) {
			return g.ArchiveFinished(ctx, "other")
		}
		return n, err
	}}, "archive-refused"},
	"lists things twice": {bad{all: func(g ops.Store) iter.Seq2[ops.Operation, error] {
		return func(yield func(ops.Operation, error) bool) {
			for op, err := range g.All() {
				if !yield(op, err) || op.ID == "stays" && !yield(op, err) {
					return
				}
			}
		}
	}}, "archive-listing"},
	"lists a sound store as corrupt": {bad{all: func(g ops.Store) iter.Seq2[ops.Operation, error] {
		return func(yield func(ops.Operation, error) bool) {
			for op, err := range g.All() {
				if op.ID != "stays" {
					err = ops.ErrDamaged
				}
				if !yield(op, err) {
					return
				}
			}
		}
	}}, "archive-listing"},
	"is deaf to contexts": {bad{deaf: true}, "cancelled"},
	"hangs":               {bad{get: func(ops.Store, string) (ops.Operation, error) { select {} }}, "begin"},
	"panics":              {bad{get: func(ops.Store, string) (ops.Operation, error) { panic("at once") }}, "begin"},
}

func good(t *testing.T) ops.Store {
	t.Helper()
	m, err := ops.NewMemory(Phases(), ops.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every check can fail, and the one that is there for a fault finds it.
func TestMisbehaving(t *testing.T) {
	noticed := map[string]bool{}
	for name, c := range misbehaving {
		t.Run(name, func(t *testing.T) {
			opts := Options{Patience: 5 * time.Second}
			if name == "hangs" {
				opts.Patience = 50 * time.Millisecond
			}
			i := slices.IndexFunc(checks, func(k check) bool { return k.name == c.by })
			if i < 0 {
				t.Fatalf("there is no check %s", c.by)
			}
			broken := c.store
			broken.Store = good(t)
			err := run(checks[i], &broken, opts)
			if err == nil {
				t.Fatalf("%s does not notice", c.by)
			}
			if err := run(checks[i], good(t), Options{}); err != nil {
				t.Fatalf("the good store: %v", err)
			}
			t.Log(err)
		})
		noticed[c.by] = true
	}
	for _, c := range checks {
		if !noticed[c.name] && !c.reopen {
			t.Errorf("no misbehaving store shows that %s can fail", c.name)
		}
	}
}

// A store that forgets is found where another one is opened.
func TestForgetful(t *testing.T) {
	errs := Check(func() (ops.Store, error) { return ops.NewMemory(Phases(), ops.Options{}) },
		Options{
			Reopen: func(ops.Store) (ops.Store, error) {
				return ops.NewMemory(Phases(),
					ops.Options{})
			}})
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "reopen: ") {
		t.Errorf("%v", errs)
	}
}
