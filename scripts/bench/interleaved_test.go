package bench

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

// BenchmarkBesideFloor does the same as AcquireRelease, Commit and Inspect, a few times by us and a
// few times by the bare system calls (of nightlyone: by that lock) in turn, so that what else the
// machine does disturbs both alike. The ratios are those of the lower quartiles, which leave out
// what was interrupted.
func BenchmarkBesideFloor(b *testing.B) {
	for _, c := range []struct {
		name  string
		floor []side
		ours  func(b *testing.B, dir string) func() error
		times int
	}{
		{"acquire", floor.acquire, probate(lockfile.Options{}), 8},
		{"commit", floor.commit, replace, 2},
		{"inspect", floor.inspect, inspectHeld, 8},
		{"nightlyone", []side{{"nightlyone", nightlyoneLock}}, probate(lockfile.Options{}), 8},
	} {
		if len(c.floor) == 0 {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			ours := c.ours(b, b.TempDir())
			bare := c.floor[0].prepare(b, b.TempDir())
			var a, z quartiles
			for b.Loop() {
				a.measure(b, c.times, ours)
				z.measure(b, c.times, bare)
			}
			b.ReportMetric(lower(a.wall)/lower(z.wall), "wall-ratio")
			b.ReportMetric(lower(a.processor)/lower(z.processor), "cpu-ratio")
		})
	}
}

// quartiles are what a few calls took, again and again.
type quartiles struct{ wall, processor []float64 }

func (q *quartiles) measure(b *testing.B, times int, once func() error) {
	used, began := processorTime(), time.Now()
	for range times {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	q.wall = append(q.wall, float64(time.Since(began)))
	q.processor = append(q.processor, float64(processorTime()-used))
}

func lower(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/4]
}

// replace writes a page under a lock that is held.
func replace(b *testing.B, dir string) func() error {
	data := make([]byte, 4096)
	path := filepath.Join(dir, "state")
	lock, err := lockfile.TryAcquire(path, lockfile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := lock.Release(); err != nil {
			b.Error(err)
		}
	})
	return func() error { return lock.WriteFile(path, data, 0o600) }
}
