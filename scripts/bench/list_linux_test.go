package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// BenchmarkListAbandoned lists the locks of a process that was killed, a thousand in every folder,
// with every hundredth held by one that lives: PROBATE_BENCH_LOCKS of them, 1000 where it is not
// set. The times are those of one lock.
func BenchmarkListAbandoned(b *testing.B) {
	n := 1000
	if text, is := os.LookupEnv(locksVariable); is {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	dead, living := filepath.Join(dir, "dead"), filepath.Join(dir, "living")
	holder := startHolder(b, dead)
	startHolder(b, living)
	holder.kill()
	for i := 2; i < n; i++ {
		of := dead
		if i%100 == 0 {
			of = living
		}
		folder := filepath.Join(dir, strconv.Itoa(i/1000))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := copyLock(of, filepath.Join(folder, fmt.Sprintf("state-%d", i))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	before := processorTime()
	for b.Loop() {
		seen := map[identity.Verdict]int{}
		for in, err := range lockfile.List(dir, lockfile.Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			seen[in.Verdict]++
		}
		alive := 1 + (n-1)/100
		if seen[identity.Alive] != alive || seen[identity.Gone] != n-alive {
			b.Fatalf("of %d locks: %v", n, seen)
		}
	}
	locks := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/locks, "ns/lock")
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/locks, "cpu-ns/lock")
}

// ofFile is where a record names the file that carries it.
var ofFile = regexp.MustCompile(`"inode":[0-9]+`)

// copyLock leaves the lock of one state beside another, as if its owner had written it there.
func copyLock(from, to string) error {
	content, err := os.ReadFile(from + ".lock")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	content = ofFile.ReplaceAll(content, fmt.Appendf(nil, `"inode":%d`, inode))
	if _, err := f.Write(content); err != nil {
		return err
	}
	return os.WriteFile(to+".fence", []byte("00000000000000000000\n"), 0o600)
}
