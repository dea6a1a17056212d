package fence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// B42: who waited on a file that was deleted meanwhile is not inside, as a new file has the name.
// The holder deletes on its way out; at most one is inside, and no number is given twice.
func TestDeletedWhileWaiting(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("who makes a fence keeps it from being deleted here, until he lets the gate go")
	}
	rounds := 10_000
	if testing.Short() {
		rounds = 1000
	}
	var top atomic.Uint64 // what the log would know
	opts := Options{
		UID:   -1,
		GID:   -1,
		Floor: func() (Token, error) { return Token(top.Load()), nil },
	}
	path := quickTemp(t)
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 3 {
		c, file := counterIn(t, path, opts)
		wg.Go(func() {
			for round := 0; round < rounds/3 && !t.Failed(); round++ {
				g, err := c.Hold(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d are inside", n)
				}
				now, err := g.Current()
				if err == nil && now != Token(top.Load()) {
					err = fmt.Errorf("at %d, the last was %d", now, top.Load())
				}
				if err == nil {
					top.Store(uint64(now) + 1) // first the log, as the protocol does
					err = g.Raise(now + 1)
				}
				inside.Add(-1)
				if round%2 == 0 {
					err = errors.Join(err, os.Remove(file))
				}
				if err = errors.Join(err, g.Release()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// quickTemp is a directory in memory where there is one: for tests that flush very often.
func quickTemp(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return t.TempDir()
	}
	path, err := os.MkdirTemp("/dev/shm", "fence-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(path) })
	return path
}
