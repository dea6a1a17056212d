package bench

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
)

func init() { children["succeed"] = succeed }

// succeed waits for the lock, writes the state, and tells when that was done.
func succeed(args []string) error {
	waits := func(lockfile.Inspection) { tell("waiting") }
	lock, err := lockfile.Acquire(context.Background(), args[0],
		lockfile.Options{OnWaiting: waits})
	if err != nil {
		return err
	}
	if err := lock.WriteFile(args[0], make([]byte, 4096), 0o600); err != nil {
		return err
	}
	tell(monotonic())
	waitForEnd()
	return lock.Release()
}

// BenchmarkTakeover measures from the SIGKILL of a holder to the end of the first commit of another
// process that waited: log and counter are flushed, the record exchanged, and a state of 4 KiB
// written durably. The floor is what the kernel takes to end such a process, and the flushes.
func BenchmarkTakeover(b *testing.B) {
	b.Run("side=calls", func(b *testing.B) {
		dir := b.TempDir()
		makeCounter(b, dir)
		var latencies []float64
		for range b.N {
			holder := startHolder(b, filepath.Join(b.TempDir(), "state"))
			pidfd, err := unix.PidfdOpen(holder.cmd.Process.Pid, 0)
			if err != nil {
				b.Fatal(err)
			}
			began := monotonic()
			if err := holder.cmd.Process.Kill(); err != nil {
				b.Fatal(err)
			}
			for n, err := 0, error(nil); n == 0; {
				n, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
				if err != nil && err != unix.EINTR {
					b.Fatal(err)
				}
			}
			if err := takeoverFlushes(dir); err != nil {
				b.Fatal(err)
			}
			latencies = append(latencies, float64(monotonic()-began))
			unix.Close(pidfd)
			holder.kill()
		}
		reportLatencies(b, latencies)
	})
	b.Run("side=probate", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "state")
		var latencies []float64
		for range b.N {
			holder := startHolder(b, path)
			next := startChild(b, "succeed", path)
			if line := next.line(b); line != "waiting" {
				b.Fatalf("the waiter said %q", line)
			}
			time.Sleep(50 * time.Millisecond) // until it sleeps: what it prepares is no takeover
			began := monotonic()
			if err := holder.cmd.Process.Kill(); err != nil {
				b.Fatal(err)
			}
			line := next.line(b)
			for line == "waiting" { // for a moment it was still alive, by another reason
				line = next.line(b)
			}
			committed, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			latencies = append(latencies, float64(committed-began))
			holder.kill()
			if err := next.end(); err != nil {
				b.Fatal(err)
			}
		}
		reportLatencies(b, latencies)
	})
}

// takeoverFlushes writes and flushes what a takeover and a commit must have on the disk.
func takeoverFlushes(dir string) error {
	c := &calls{}
	d := c.openDir(dir)
	for _, f := range []struct {
		name  string
		flags int
		size  int
	}{{"state.recovery.log", unix.O_APPEND, 600}, {"state.fence", 0, counterSize},
		{"state.tmp", 0, 4096}} {
		flags := unix.O_CREAT | unix.O_RDWR | unix.O_CLOEXEC | f.flags
		fd, err := unix.Openat(d, f.name, flags, 0o600)
		c.do("open", err)
		_, err = unix.Write(fd, c.buf[:min(f.size, len(c.buf))])
		c.do("write", err)
		c.do("fsync", unix.Fsync(fd))
		c.close(fd)
	}
	c.do("rename", unix.Renameat(d, "state.tmp", d, "state"))
	c.do("fsync", unix.Fsync(d))
	c.close(d)
	return c.err
}
