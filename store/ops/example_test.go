package ops_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/store/ops"
)

var phases = ops.Phases{
	Initial: "planned",
	Next: map[ops.Phase][]ops.Phase{
		"planned":  {"applying", "cancelled"},
		"applying": {"applied", "failed"},
	},
	Terminal: []ops.Phase{"applied", "failed", "cancelled"},
}

// folder is a folder for the examples.
func folder() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// A worker that survives kill -9: whatever it has begun is on disk before anything is made.
func Example() {
	dir, remove := folder()
	defer remove()
	ctx := context.Background()

	store, err := ops.Open(dir, phases, ops.Options{})
	if err != nil {
		log.Fatal(err)
	}
	request := ops.Request{
		ID:          "order/4711",
		Environment: "production",
		Data:        map[string]int{"disks": 1},
	}
	op, begun, err := store.Begin(ctx, request)
	if err != nil {
		log.Fatal(err) // ErrBusy: whose operation is unfinished there; ErrConflict: another request
	}
	fmt.Println(op.ID, op.Phase, begun)

	// First on disk, then in the world: a crash leaves nothing behind that nobody knows of.
	op, err = store.RecordOwned(ctx, op.ID, op.Revision, ops.Resource{Kind: "disk", Name: "d-17"})
	if err != nil {
		log.Fatal(err)
	}
	for _, to := range []ops.Phase{"applying", "applied"} {
		op, err = store.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Phase: to})
		if err != nil {
			log.Fatal(err) // ErrStale: what it is now is in the error
		}
	}

	// Who is not sure whether a request got through sends it again.
	op, begun, err = store.Begin(ctx, request)
	fmt.Println(op.Phase, op.Owned[0].Name, begun, err)
	// Output:
	// order/4711 planned true
	// applied d-17 false <nil>
}

// At the start of a program: what was left unfinished, and is anybody still working on it?
func ExampleFolder_Recoverable() {
	dir, remove := folder()
	defer remove()
	ctx := context.Background()
	store, err := ops.Open(dir, phases, ops.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := store.Begin(ctx, ops.Request{ID: "r", Environment: "production"}); err != nil {
		log.Fatal(err)
	}

	for r, err := range store.Recoverable() {
		if err != nil {
			log.Print(err) // one file that cannot be read blocks only itself
			continue
		}
		switch r.Finding.Verdict {
		case identity.Gone:
			op, err := store.Claim(ctx, r.Operation.ID, r.Operation.Revision, ops.Takeover{})
			if errors.Is(err, ops.ErrStale) {
				continue // another one was faster
			}
			fmt.Println("going on with", op.ID, err)
		case identity.Alive:
			fmt.Println("left alone:", r.Operation.ID, r.Operation.Phase)
		case identity.Unknown:
			fmt.Println("a person must decide:", r.Finding)
		}
	}
	// Output: left alone: r planned
}

// May a payment be sent again, when nobody knows whether the first request arrived?
func ExampleOperation_MayRetry() {
	dir, remove := folder()
	defer remove()
	ctx := context.Background()
	store, err := ops.Open(dir, phases, ops.Options{})
	if err != nil {
		log.Fatal(err)
	}
	op, _, err := store.Begin(ctx, ops.Request{ID: "r", Environment: "production"})
	if err != nil {
		log.Fatal(err)
	}
	body, _ := ops.Digest(map[string]int{"amount": 100})
	op, err = store.RecordEffects(ctx, op.ID, op.Revision,
		ops.Effect{Key: "pay-1", Digest: body, Endpoint: "https://bank.example"})
	if err != nil {
		log.Fatal(err)
	}

	// What the endpoint has said, when it was asked.
	capability, err := ops.ParseRetryCapability([]byte(`{"v":1,` +
		`"contract":"same-key-same-request-takes-place-once","endpoint":"https://bank.example",` +
		`"key":"pay-1","digest":"` + body + `",` +
		`"issuedAt":"2026-11-30T06:00:00Z","expiresAt":"2026-11-30T07:00:00Z"}`))
	if err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 6, 30, 0, 0, time.UTC)
	fmt.Println(op.MayRetry("pay-1", body, capability, now))
	late := op.MayRetry("pay-1", body, capability, now.Add(time.Hour))
	fmt.Println(errors.Is(late, ops.ErrNoRetry))
	// Output:
	// <nil>
	// true
}
