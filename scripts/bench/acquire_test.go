package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	filemutex "github.com/alexflint/go-filemutex"
	"github.com/caddyserver/certmagic"
	"github.com/gofrs/flock"
	nightlyone "github.com/nightlyone/lockfile"
	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/probate-dev/probate/lockfile"
)

// side is one way to do what is measured. What it is measured in is prepared with a directory of
// its own.
type side struct {
	name    string
	prepare func(b *testing.B, dir string) (once func() error)
}

// run measures every side. TMPDIR says on which filesystem. Processor time is what can be compared
// on a machine that has other things to do.
func run(b *testing.B, sides []side) {
	for _, s := range sides {
		b.Run("side="+s.name, func(b *testing.B) {
			once := s.prepare(b, b.TempDir())
			if err := once(); err != nil { // what is done once for each process or directory
				b.Fatal(err)
			}
			b.ReportAllocs()
			before := processorTime()
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
			}
			if used := processorTime() - before; used > 0 {
				b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
			}
		})
	}
}

func probate(opts lockfile.Options) func(b *testing.B, dir string) func() error {
	return func(b *testing.B, dir string) func() error {
		path := filepath.Join(dir, "state")
		return func() error {
			lock, err := lockfile.TryAcquire(path, opts)
			if err != nil {
				return err
			}
			return lock.Release()
		}
	}
}

func nightlyoneLock(b *testing.B, dir string) func() error {
	path := filepath.Join(dir, "state.pid")
	return func() error {
		lock, err := nightlyone.New(path)
		if err == nil {
			err = lock.TryLock()
		}
		if err != nil {
			return err
		}
		return lock.Unlock()
	}
}

// BenchmarkAcquireRelease takes and gives back a lock that nobody else wants. The first three keep
// a record of who has the lock. The others are a kernel lock on a file and nothing else: nobody can
// say who has it, and it is no lock on what the peers call local but is not.
func BenchmarkAcquireRelease(b *testing.B) {
	run(b, append(floor.acquire,
		side{"probate", probate(lockfile.Options{})},
		side{"nightlyone", nightlyoneLock},
		side{"certmagic", func(b *testing.B, dir string) func() error {
			storage := &certmagic.FileStorage{Path: dir}
			ctx := context.Background()
			return func() error {
				if err := storage.Lock(ctx, "state"); err != nil {
					return err
				}
				return storage.Unlock(ctx, "state")
			}
		}},
		side{"flock", func(b *testing.B, dir string) func() error {
			path := filepath.Join(dir, "state.lock")
			return func() error {
				lock := flock.New(path)
				got, err := lock.TryLock()
				if err == nil && !got {
					err = errors.New("somebody else has it")
				}
				if err != nil {
					return err
				}
				return lock.Unlock()
			}
		}},
		side{"lockedfile", func(b *testing.B, dir string) func() error {
			mutex := lockedfile.MutexAt(filepath.Join(dir, "state.lock"))
			return func() error {
				unlock, err := mutex.Lock()
				if err == nil {
					unlock()
				}
				return err
			}
		}},
		side{"filemutex", func(b *testing.B, dir string) func() error {
			path := filepath.Join(dir, "state.lock")
			return func() error {
				mutex, err := filemutex.New(path)
				if err == nil {
					err = mutex.Lock()
				}
				if err != nil {
					return err
				}
				return mutex.Close() // unlocks
			}
		}},
	))
}

// BenchmarkAcquireReleaseOptions shows what options cost.
func BenchmarkAcquireReleaseOptions(b *testing.B) {
	run(b, []side{
		{"flush-later", probate(lockfile.Options{})},
		{"flush-first", probate(lockfile.Options{Durability: lockfile.FlushFirst})},
		{"fresh-token", probate(lockfile.Options{FreshToken: true})},
	})
}
