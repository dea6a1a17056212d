package bench

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	nightlyone "github.com/nightlyone/lockfile"
	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
)

// blocking are locks whose acquire waits for its turn, and returns the release. flock is the
// kernel's own queue, on a thread for each waiter; nightlyone waits as its callers do, by asking
// again every millisecond.
var blocking = map[string]func(path string) (release func() error, err error){
	"flock": func(path string) (func() error, error) {
		fd, err := unix.Open(path+".flock", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		for err == nil {
			if err = unix.Flock(fd, unix.LOCK_EX); err != unix.EINTR {
				break
			}
			err = nil
		}
		return func() error { return unix.Close(fd) }, err
	},
	"probate": func(path string) (func() error, error) {
		lock, err := lockfile.Acquire(context.Background(), path, lockfile.Options{})
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	},
	"nightlyone": func(path string) (func() error, error) {
		lock, err := nightlyone.New(path + ".pid")
		if err != nil {
			return nil, err
		}
		for lock.TryLock() != nil {
			time.Sleep(time.Millisecond)
		}
		return lock.Unlock, nil
	},
}

var blockingNames = []string{"flock", "calls", "probate", "nightlyone"}

// tenure is one turn of a waiter: nanoseconds on a clock that all processes share.
type tenure struct{ began, acquired, released int64 }

func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

func init() { children["turns"] = takeTurns }

// takeTurns has a number of waiters take a number of turns each, begun by a line of input, and tells
// of every turn, and then what it cost: LOCK PATH WAITERS TURNS HOLD PAUSE.
func takeTurns(args []string) error {
	acquire, path := blocking[args[0]], args[1]
	var numbers [2]int
	var times [2]time.Duration
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[2+i]); err != nil {
			return err
		}
		if times[i], err = time.ParseDuration(args[4+i]); err != nil {
			return err
		}
	}
	waiters, turns, hold, pause := numbers[0], numbers[1], times[0], times[1]
	if err := ready(); err != nil {
		return err
	}
	var mu sync.Mutex
	var all []tenure
	var failed error
	var done sync.WaitGroup
	for range waiters {
		done.Go(func() {
			for range turns {
				var t tenure
				t.began = monotonic()
				release, err := acquire(path)
				t.acquired = monotonic()
				if err == nil {
					time.Sleep(hold)
					t.released = monotonic()
					err = release()
				}
				mu.Lock()
				all, failed = append(all, t), firstOf(failed, err)
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	done.Wait()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	for _, t := range all {
		tell(t.began, t.acquired, t.released)
	}
	tell("cost", usage.Utime.Nano()+usage.Stime.Nano(), usage.Nvcsw)
	return failed
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// turns runs processes that take turns, and returns all turns in their order and what they cost.
func turns(b *testing.B, name string, processes, waiters, each int, hold, pause string) (
	all []tenure, cpu, switches float64) {
	path := filepath.Join(b.TempDir(), "state")
	running := startTogether(b, processes, func() *child {
		return startChild(b, "turns", name, path, fmt.Sprint(waiters), fmt.Sprint(each), hold, pause)
	})
	for _, c := range running {
		for {
			line := c.line(b)
			if rest, is := strings.CutPrefix(line, "cost "); is {
				var ns, n float64
				if _, err := fmt.Sscan(rest, &ns, &n); err != nil {
					b.Fatal(err)
				}
				cpu, switches = cpu+ns, switches+n
				break
			}
			var t tenure
			if _, err := fmt.Sscan(line, &t.began, &t.acquired, &t.released); err != nil {
				b.Fatalf("%q: %v", line, err)
			}
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(x, y tenure) int { return int(x.acquired - y.acquired) })
	for i := 1; i < len(all); i++ {
		if all[i].acquired < all[i-1].released {
			b.Fatal("two had the lock at once")
		}
	}
	return all, cpu, switches
}

// BenchmarkHandoff measures from the begin of a release to the moment when the other process, which
// is waiting, has the lock.
func BenchmarkHandoff(b *testing.B) {
	for _, name := range blockingNames {
		b.Run("side="+name, func(b *testing.B) {
			all, _, _ := turns(b, name, 2, 1, b.N/2+2, "2ms", "1ms")
			var latencies []float64
			for i := 1; i < len(all); i++ {
				if all[i].began < all[i-1].released-int64(time.Millisecond) {
					latencies = append(latencies, float64(all[i].acquired-all[i-1].released))
				}
			}
			reportLatencies(b, latencies)
		})
	}
}

func reportLatencies(b *testing.B, latencies []float64) {
	if len(latencies) == 0 {
		return
	}
	slices.Sort(latencies)
	b.ReportMetric(latencies[len(latencies)/2], "median-ns")
	b.ReportMetric(latencies[len(latencies)*99/100], "p99-ns")
}

// BenchmarkWaiters has 40 and 200 waiters in eight processes, who want the lock again as soon as
// they had it, for a millisecond each. Processor time and wake-ups (switches that a thread wanted)
// are those of all of them for one turn: that there are more of them must not wake more of them.
func BenchmarkWaiters(b *testing.B) {
	const processes = 8
	for _, waiters := range []int{40, 200} {
		// Not nightlyone, whose lock belongs to a process and excludes no two of its goroutines.
		for _, name := range []string{"flock", "probate"} {
			b.Run(fmt.Sprintf("waiters=%d/side=%s", waiters, name), func(b *testing.B) {
				waitInTurn(b, name, processes, waiters/processes)
			})
		}
	}
}

func waitInTurn(b *testing.B, name string, processes, waiters int) {
	all, cpu, switches := turns(b, name, processes, waiters, b.N, "1ms", "0ms")
	longest, sum := 0.0, 0.0
	for _, t := range all {
		wait := float64(t.acquired - t.began)
		longest, sum = math.Max(longest, wait), sum+wait
	}
	n := float64(len(all))
	b.ReportMetric(longest/(sum/n), "longest/mean")
	b.ReportMetric(cpu/n, "cpu-ns/turn")
	b.ReportMetric(switches/n, "wakeups/turn")
}
