package bench

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// replacers are others who replace a file, where there are any.
var replacers []side

// BenchmarkCommit replaces a file of 4 KiB so that it survives a power cut: temporary file, flush,
// rename, flush of the directory. Only one side asks whether its lock still stands before it does.
func BenchmarkCommit(b *testing.B) {
	run(b, append(slices.Concat(floor.commit, replacers),
		side{"probate", func(b *testing.B, dir string) func() error {
			path, data := filepath.Join(dir, "state"), make([]byte, 4096)
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
		}},
	))
}
