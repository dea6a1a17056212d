package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
)

func init() { children["block"] = block }

// block has a number of waiters wait, tells when all of them do and, at each line of input, how much
// processor time and how many wake-ups that has cost so far, and gives up when there is no more:
// PATH WAITERS.
func block(args []string) error {
	waiters, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wait, done sync.WaitGroup
	failed := make(chan error, waiters)
	wait.Add(waiters)
	for range waiters {
		done.Go(func() {
			begun := sync.OnceFunc(wait.Done)
			_, err := lockfile.Acquire(ctx, args[0], lockfile.Options{
				OnWaiting: func(lockfile.Inspection) { begun() }})
			if !errors.Is(err, context.Canceled) {
				failed <- fmt.Errorf("a waiter did not wait: %w", err)
			}
		})
	}
	wait.Wait()
	tell("waiting")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			return err
		}
		tell(u.Utime.Nano()+u.Stime.Nano(), u.Nvcsw)
	}
	cancel()
	done.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// BenchmarkBlocked has 200 waiters in eight processes wait for a lock that nobody gives back, and
// measures what one of them costs in a second.
func BenchmarkBlocked(b *testing.B) {
	const processes, waiters = 8, 25
	path := filepath.Join(b.TempDir(), "state")
	startHolder(b, path)
	var all []*child
	for range processes {
		c := startChild(b, "block", path, fmt.Sprint(waiters))
		if line := c.line(b); line != "waiting" {
			b.Fatalf("a process said %q", line)
		}
		all = append(all, c)
	}
	usage := func() (ns, switches float64) {
		for _, c := range all {
			c.say(b, "usage")
			var cpu, n float64
			if _, err := fmt.Sscan(c.line(b), &cpu, &n); err != nil {
				b.Fatal(err)
			}
			ns, switches = ns+cpu, switches+n
		}
		return ns, switches
	}
	time.Sleep(300 * time.Millisecond) // until the last has found its place
	cpu, switches := usage()
	began := time.Now()
	time.Sleep(time.Duration(b.N) * 500 * time.Millisecond)
	after, later := usage()
	seconds := time.Since(began).Seconds() * processes * waiters
	b.ReportMetric((after-cpu)/seconds, "cpu-ns/waiter-second")
	b.ReportMetric((later-switches)/seconds, "wakeups/waiter-second")
}
