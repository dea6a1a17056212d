package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

func init() { children["transactions"] = transactions }

// counted is the state of both sides.
type counted struct {
	Count int `json:"count"`
}

// transactions adds one to a count under the lock for a time, as the program in JavaScript does.
func transactions(args []string) error {
	state := args[0]
	seconds, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	done, end := 0, time.Now().Add(time.Duration(seconds*float64(time.Second)))
	for time.Now().Before(end) {
		lock, err := lockfile.Acquire(context.Background(), state, lockfile.Options{})
		if err != nil {
			return err
		}
		var now counted
		if text, err := os.ReadFile(state); err == nil {
			if err := json.Unmarshal(text, &now); err != nil {
				return err
			}
		}
		now.Count++
		text, err := json.Marshal(now)
		if err != nil {
			return err
		}
		if err := lock.WriteFile(state, text, 0o600); err != nil {
			return err
		}
		if err := lock.Release(); err != nil {
			return err
		}
		done++
	}
	tell(done, 0) // nobody is told that the lock is busy: they wait
	return nil
}

// startRecordV2 starts the program in JavaScript.
func startRecordV2(b *testing.B, node string, args ...string) *child {
	b.Helper()
	script := filepath.Join("recordv2", "transactions.mjs")
	cmd := exec.Command(node, append([]string{script}, args...)...)
	cmd.Stderr = os.Stderr
	return startCommand(b, cmd)
}

// BenchmarkTransactions has four processes add to one count, in Go under this lock, and in
// JavaScript as the record-v2 programs do it, where Node is. They flush their record before they use
// it and their state before it is renamed, and never the directory; this lock flushes the state and
// the directory. No addition may be lost.
func BenchmarkTransactions(b *testing.B) {
	node, noNode := exec.LookPath("node")
	for name, start := range map[string]func(b *testing.B, args ...string) *child{
		"probate": func(b *testing.B, args ...string) *child {
			return startChild(b, "transactions", args...)
		},
		"record-v2": func(b *testing.B, args ...string) *child {
			return startRecordV2(b, node, args...)
		},
	} {
		b.Run("side="+name, func(b *testing.B) {
			if name == "record-v2" && noNode != nil {
				b.Skip("there is no Node here")
			}
			const processes = 4
			seconds := 0.2 * float64(b.N)
			dir := b.TempDir()
			all := startTogether(b, processes, func() *child {
				return start(b, filepath.Join(dir, "state"), fmt.Sprint(seconds))
			})
			done, busy := 0, 0
			for _, c := range all {
				var d, n int
				if _, err := fmt.Sscan(c.line(b), &d, &n); err != nil {
					b.Fatal(err)
				}
				done, busy = done+d, busy+n
			}
			if n, err := countInFile(dir); err != nil || n != done {
				b.Fatalf("%d additions, and the count is %d: %v", done, n, err)
			}
			b.ReportMetric(float64(done)/seconds, "turns/s")
			b.ReportMetric(float64(busy)/float64(done), "busy/op")
		})
	}
}
