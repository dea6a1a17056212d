//go:build !windows

package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/renameio/v2"
)

// renameio does not exist for Windows, where a file that is open cannot be replaced as it does it.

func init() {
	replacers = append(replacers, side{"renameio", func(b *testing.B, dir string) func() error {
		path, data := filepath.Join(dir, "state"), make([]byte, 4096)
		return func() error { return replaceDurably(path, data) }
	}})
}

// replaceDurably is renameio and what that leaves to its callers.
func replaceDurably(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
