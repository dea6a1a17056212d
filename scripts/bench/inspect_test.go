package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// BenchmarkInspect judges a lock that another process holds. The floor is the system calls that a
// judgement is made of.
func BenchmarkInspect(b *testing.B) {
	run(b, append(floor.inspect, side{"probate", inspectHeld}))
}

func inspectHeld(b *testing.B, dir string) func() error {
	path := filepath.Join(dir, "state")
	startHolder(b, path)
	return func() error {
		in, err := lockfile.Inspect(path, lockfile.Options{})
		if err == nil && in.Verdict != identity.Alive {
			err = errors.New("judged " + in.Verdict.String())
		}
		return err
	}
}

// BenchmarkList judges 1000 held locks in one directory; the time is that of one. The locks are
// held by one process: b.N is how often the directory is listed.
func BenchmarkList(b *testing.B) {
	const locks = 1000
	dir := b.TempDir()
	for i := range locks {
		lock, err := lockfile.TryAcquire(filepath.Join(dir, strconv.Itoa(i)), lockfile.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer lock.Release()
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for in, err := range lockfile.List(dir, lockfile.Options{}) {
			if err == nil && in.Verdict != identity.Alive {
				err = errors.New("judged " + in.Verdict.String())
			}
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != locks {
			b.Fatalf("%d locks of %d", n, locks)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/locks, "ns/lock")
}

// startHolder starts a process that holds the lock until the benchmark ends.
func startHolder(b *testing.B, path string) *child {
	c := startChild(b, "hold", path)
	if line := c.line(b); line != "held" {
		b.Fatalf("the holder said %q", line)
	}
	return c
}

func init() {
	children["hold"] = func(args []string) error {
		lock, err := lockfile.TryAcquire(args[0], lockfile.Options{})
		if err != nil {
			return err
		}
		tell("held")
		waitForEnd()
		return errors.Join(lock.Release(), os.Stdout.Close())
	}
}
