package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// place is a state path for the examples.
func place() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "probate-example-")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "state.json"), func() { os.RemoveAll(dir) }
}

// One writer at a time, for as long as it takes.
func ExampleAcquire() {
	path, remove := place()
	defer remove()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, path, lockfile.Options{Label: "nightly import"})
	if err != nil {
		log.Fatal(err) // who holds it, since when, and why it could not be taken over
	}
	defer lock.Release()

	work := func(ctx context.Context) []byte { return []byte(`{"runs":1}`) }
	data := work(lock.Context())            // ends with cause ErrLost if the lock is lost
	err = lock.WriteFile(path, data, 0o600) // atomic, durable, refused after a loss
	fmt.Println(err)

	content, _ := os.ReadFile(path)
	fmt.Println(string(content))
	// Output:
	// <nil>
	// {"runs":1}
}

// Only look: nothing is changed, and nobody waits.
func ExampleInspect() {
	path, remove := place()
	defer remove()
	ctx := context.Background()
	lock, err := lockfile.Acquire(ctx, path, lockfile.Options{Label: "nightly import"})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()

	in, err := lockfile.Inspect(path, lockfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	switch in.Verdict {
	case identity.Free:
		fmt.Println("free")
	case identity.Alive:
		fmt.Println("held for:", in.Owner.Label)
	case identity.Gone:
		fmt.Println("the next Acquire takes it over by itself")
	case identity.Unknown:
		fmt.Println(in.Next) // what a person can do
	}
	// Output: held for: nightly import
}

// Busy is an answer, not a mystery.
func ExampleTryAcquire() {
	path, remove := place()
	defer remove()
	lock, err := lockfile.TryAcquire(path, lockfile.Options{Label: "nightly import"})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()

	_, err = lockfile.TryAcquire(path, lockfile.Options{})
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok {
		fmt.Println(busy.Verdict, busy.Owner.PID == os.Getpid(), busy.Owner.Label)
	}
	// Output: alive true nightly import
}

// A person takes responsibility: they name the lock that they saw, and say why.
func ExampleBreak() {
	path, remove := place()
	defer remove()
	lock, err := lockfile.Acquire(context.Background(), path, lockfile.Options{})
	if err != nil {
		log.Fatal(err)
	}

	in, err := lockfile.Inspect(path, lockfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = lockfile.Break(context.Background(), path, lockfile.BreakRequest{
		LockID: in.LockID, Reason: "it hangs since Tuesday", By: "alice", EvenIfAlive: true,
	}, lockfile.Options{})
	if err != nil {
		log.Fatal(err) // ErrChanged: it is another one's lock by now
	}

	err = lock.WriteFile(path, []byte("too late"), 0o600)
	fmt.Println(errors.Is(err, lockfile.ErrFenced))
	entries, _, _ := lockfile.ReadLog(path, lockfile.Options{})
	fmt.Println(entries[0].Event, entries[0].By, entries[0].Fence)
	// Output:
	// true
	// break alice 1
}

// Commit makes any change one step with the check that the lock is still held.
func ExampleLock_Commit() {
	path, remove := place()
	defer remove()
	lock, err := lockfile.Acquire(context.Background(), path, lockfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Release()

	temp := path + ".new"
	if err := os.WriteFile(temp, []byte("content"), 0o600); err != nil {
		log.Fatal(err)
	}
	err = lock.Commit(context.Background(), func() error { return os.Rename(temp, path) })
	fmt.Println(err, lock.Token())
	// Output: <nil> 0
}
