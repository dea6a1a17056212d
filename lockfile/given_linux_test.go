//go:build amd64 || arm64

package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	scenarios["mounted over"] = func(p *probetest.Peer, dir string) {
		at := filepath.Join(dir, "at")
		noError(p, os.Mkdir(at, 0o755))
		var seen []string
		tenures := func() {
			for range 3 { // the first asks, the others know
				lock, err := lockfile.TryAcquire(filepath.Join(at, "state"), lockfile.Options{})
				noError(p, err)
				content, err := os.ReadFile(lock.Path())
				noError(p, err)
				noError(p, lock.Release())
				f, err := os.Open(at)
				noError(p, err)
				is := probe.Real().Filesystem(f.Fd())
				noError(p, f.Close())
				want := fmt.Sprintf(`"file":{"fs":%q,"id":%q,`, is.Type.Value, is.ID.Value)
				if !strings.Contains(string(content), want) {
					p.Fatalf("%s is not in %s", want, content)
				}
				seen = append(seen, want)
			}
		}
		tenures()
		mount(p, "ramfs", at, "")
		tenures()
		noError(p, syscall.Unmount(at, 0))
		mount(p, "tmpfs", at, "")
		tenures()
		noError(p, syscall.Unmount(at, 0))
		tenures()
		if seen[0] == seen[3] || seen[3] == seen[6] || seen[0] != seen[9] {
			p.Fatalf("the mounts are not told apart: %q", seen)
		}
	}
}

// A path that leads to another filesystem since the last tenure is not taken for the old one.
func TestMountedOver(t *testing.T) { inPrivate(t, "mounted over") }
