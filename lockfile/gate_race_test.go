package lockfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

func breakAnyway(state, id string) error {
	_, err := lockfile.Break(context.Background(), state,
		lockfile.BreakRequest{LockID: id, Reason: "race", EvenIfAlive: true}, lockfile.Options{})
	return err
}

// A commit and a break at the same time: what the break finds done is done, and nothing comes after
// it. (I2)
func TestCommitAgainstBreak(t *testing.T) {
	t.Parallel()
	state := newState(t)
	ends := map[string]int{}
	holder := startActor(t, state)
	for round := range fewerOnWine(40) {
		id, _, _ := tenureOf(t, holder.Ask("acquire"))
		text := fmt.Sprint("round ", round)
		holder.Send("write " + text)
		for range round % 16 * 2 { // now one is faster, now the other
			inspect(t, state)
		}
		noError(t, breakAnyway(state, id))
		atBreak := maybe(state)
		said := holder.Line()
		if said != "ok" && said != "fenced" || (said == "ok") != (atBreak == text) {
			t.Fatalf("round %d: %s, and the state was %q at the break", round, said, atBreak)
		}
		if now := maybe(state); now != atBreak {
			t.Fatalf("round %d: the state was %q at the break, it is %q", round, atBreak, now)
		}
		ends[said]++
		expect(t, holder, "release", "fenced")
	}
	noLeftovers(t, state)
	t.Log(ends)
}

// maybe is the content of a file, "" when there is none.
func maybe(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// A release and a break at the same time: one of them is first, and says so.
func TestReleaseAgainstBreak(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	ends, fence := map[string]int{}, 0
	for round := range fewerOnWine(40) {
		id, token, _ := tenureOf(t, holder.Ask("acquire"))
		if token != fence {
			t.Fatalf("round %d: token %d, want %d", round, token, fence)
		}
		holder.Send("release")
		err := breakAnyway(state, id)
		said := holder.Line()
		switch {
		case err == nil && said == "fenced":
			fence++
		case errors.Is(err, lockfile.ErrChanged) && said == "ok":
		default:
			t.Fatalf("round %d: the release says %s, the break %v", round, said, err)
		}
		ends[said]++
		if in := inspect(t, state); in.Verdict != identity.Free || int(in.Fence.Counter) != fence {
			t.Fatalf("round %d: %v, fence %+v", round, in.Finding, in.Fence)
		}
	}
	noLeftovers(t, state)
	t.Log(ends)
}

// Four people break one lock: one does, the others are told that it has changed.
func TestBreakAgainstBreak(t *testing.T) {
	t.Parallel()
	state := newState(t)
	holder := startActor(t, state)
	for round := 1; round <= 20; round++ {
		id, _, _ := tenureOf(t, holder.Ask("acquire"))
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = breakAnyway(state, id) })
		}
		wg.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
			} else if !errors.Is(err, lockfile.ErrChanged) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if now := counterOf(t, state); done != 1 || now != round {
			t.Fatalf("round %d: %d broke it, the fence is %d", round, done, now)
		}
		expect(t, holder, "release", "fenced")
	}
	noLeftovers(t, state)
}

// A holder is killed in the middle of a commit, and taken over at once: the state is the old or the
// new one, and stays what the successor found.
func TestCommitAgainstTakeover(t *testing.T) {
	needsProof(t)
	t.Parallel()
	state := newState(t)
	before := ""
	for round := 1; round <= 15; round++ {
		holder := startActor(t, state)
		tenureOf(t, holder.Ask("acquire"))
		text := fmt.Sprint("round ", round)
		holder.Send("write " + text)
		holder.Kill()
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		noError(t, err)
		found := maybe(state)
		if found != before && found != text {
			t.Fatalf("round %d: the state is %q, it was %q", round, found, before)
		}
		if int(lock.Token()) != round || lock.Recovered() == nil {
			t.Fatalf("round %d: token %d", round, lock.Token())
		}
		before = found
		noError(t, lock.Release())
	}
	noLeftovers(t, state)
}
