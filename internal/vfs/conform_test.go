package vfs_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/vfstest"
)

// The real file system does what every other one must do, on disk and in memory.
func TestConforms(t *testing.T) {
	roots := map[string]string{"disk": ""}
	if runtime.GOOS == "linux" {
		roots["memory"] = "/dev/shm"
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			vfstest.Conform(t, func(t *testing.T) vfs.Dir {
				path := t.TempDir()
				if root != "" {
					var err error
					if path, err = os.MkdirTemp(root, "vfs-test-"); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { os.RemoveAll(path) })
				}
				path, err := filepath.EvalSymlinks(path)
				if err != nil {
					t.Fatal(err)
				}
				d, err := vfs.OS().OpenDir(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { d.Close() })
				return d
			})
		})
	}
}
