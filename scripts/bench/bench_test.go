package bench

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	nightlyone "github.com/nightlyone/lockfile"

	"github.com/probate-dev/probate/lockfile"
)

// BenchmarkAcquireRelease takes and gives back a lock that nobody else wants. TMPDIR says on which
// filesystem. flock keeps no record and proves nothing about anybody: it is the floor.
func BenchmarkAcquireRelease(b *testing.B) {
	probate := func(opts lockfile.Options) func(b *testing.B, path string) {
		return func(b *testing.B, path string) {
			lock, err := lockfile.TryAcquire(path, opts)
			if err == nil {
				err = lock.Release()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		once func(b *testing.B, path string)
	}{
		{"probate", probate(lockfile.Options{})},
		{"probate-flush-first", probate(lockfile.Options{Durability: lockfile.FlushFirst})},
		{"probate-fresh-token", probate(lockfile.Options{FreshToken: true})},
		{"nightlyone", func(b *testing.B, path string) {
			lock, err := nightlyone.New(path)
			if err == nil {
				err = lock.TryLock()
			}
			if err == nil {
				err = lock.Unlock()
			}
			if err != nil {
				b.Fatal(err)
			}
		}},
		{"flock", func(b *testing.B, path string) {
			lock := flock.New(path)
			got, err := lock.TryLock()
			if err == nil && !got {
				err = errors.New("somebody else has it")
			}
			if err == nil {
				err = lock.Unlock()
			}
			if err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "state")
			for b.Loop() {
				c.once(b, path)
			}
		})
	}
}
