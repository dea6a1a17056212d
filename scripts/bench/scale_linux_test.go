package bench

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

// locksVariable says how many locks are held at once, at most what the limit of descriptors allows.
const locksVariable = "PROBATE_BENCH_LOCKS"

// BenchmarkManyHeld takes many locks, looks what one of them costs while it is idle, and releases
// all of them.
func BenchmarkManyHeld(b *testing.B) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	most := 1000
	if text, is := os.LookupEnv(locksVariable); is {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	most = min(most, int(min(limit.Cur, 1<<30)))
	for range b.N {
		dir := b.TempDir()
		before := usage(b)
		var all []*lockfile.Lock
		for i := range most {
			path := filepath.Join(dir, strconv.Itoa(i))
			lock, err := lockfile.TryAcquire(path, lockfile.Options{})
			if errors.Is(err, syscall.EMFILE) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, lock)
		}
		n := float64(len(all))
		after := usage(b)
		for end := time.Now().Add(patience); after.files > before.files+len(all)+64 &&
			time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond) // until those are settled that were taken last
			after = usage(b)
		}
		b.ReportMetric(float64(after.files-before.files)/n, "fds/lock")
		b.ReportMetric(float64(after.memory-before.memory)/n, "bytes/lock")
		b.ReportMetric(float64(after.goroutines-before.goroutines)/n, "goroutines/lock")
		for _, lock := range all {
			if err := lock.Release(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(n, "locks")
	}
}

type used struct {
	files, goroutines int
	memory            int64
}

func usage(b *testing.B) used {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return used{files: 1 << 30, goroutines: runtime.NumGoroutine(), memory: int64(m.HeapAlloc)}
	}
	return used{len(entries), runtime.NumGoroutine(), int64(m.HeapAlloc)}
}
