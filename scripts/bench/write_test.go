package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/renameio/v2"

	"github.com/probate-dev/probate/lockfile"
)

// BenchmarkCommit replaces a file of 4 KiB so that it survives a power cut: temporary file, flush,
// rename, flush of the directory. Only one side asks whether its lock still stands before it does.
func BenchmarkCommit(b *testing.B) {
	data := make([]byte, 4096)
	run(b, append(floor.commit,
		side{"probate", func(b *testing.B, dir string) func() error {
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
		}},
		side{"renameio", func(b *testing.B, dir string) func() error {
			path := filepath.Join(dir, "state")
			return func() error {
				if err := renameio.WriteFile(path, data, 0o600); err != nil {
					return err
				}
				return syncDir(dir)
			}
		}},
	))
}

// syncDir is what renameio leaves to its callers.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
