package fence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/probate-dev/probate/fence"
)

// An old holder that wakes up late is refused at the very moment when it wants to change something.
func ExampleCounter_Guard() {
	dir, err := os.MkdirTemp("", "fence")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	counter, err := fence.Open(filepath.Join(dir, "state.json.fence"))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	old, err := counter.Current() // the first holder
	if err != nil {
		panic(err)
	}

	gate, err := counter.Hold(ctx) // a takeover
	if err != nil {
		panic(err)
	}
	if err := gate.Raise(old + 1); err != nil {
		panic(err)
	}
	if err := gate.Release(); err != nil {
		panic(err)
	}

	save := func() error { fmt.Println("saved"); return nil }
	err = counter.Guard(ctx, old, save)
	fmt.Println(errors.Is(err, fence.ErrFenced))
	err = counter.Guard(ctx, old+1, save)
	fmt.Println(err)
	// Output:
	// true
	// saved
	// <nil>
}

// Whoever needs a new number raises the counter inside the gate. The number is on disk when Raise
// returns.
func ExampleCounter_Hold() {
	dir, err := os.MkdirTemp("", "fence")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	counter, err := fence.Open(filepath.Join(dir, "jobs.fence"))
	if err != nil {
		panic(err)
	}
	next := func() (fence.Token, error) {
		gate, err := counter.Hold(context.Background())
		if err != nil {
			return 0, err
		}
		defer gate.Release()
		now, err := gate.Current()
		if err != nil {
			return 0, err
		}
		return now + 1, gate.Raise(now + 1)
	}
	fmt.Println(next())
	fmt.Println(next())
	// Output:
	// 1 <nil>
	// 2 <nil>
}

// Memory stands in for a counter on disk in tests.
func ExampleNewMemory() {
	var store fence.Store = fence.NewMemory()
	err := store.Guard(context.Background(), 7, func() error { return nil })
	fmt.Println(errors.Is(err, fence.ErrNeverIssued))
	// Output: true
}
