//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// scenarios are tests that need filesystems of their own. Each runs in a child with private mounts,
// in an empty directory.
var scenarios = map[string]func(p *probetest.Peer, dir string){}

func init() {
	probetest.Register("scenario", func(p *probetest.Peer) { scenarios[p.Arg(0)](p, p.Arg(1)) })
}

func private(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// inPrivate runs a scenario.
func inPrivate(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a filesystem of its own")
	}
	try := exec.Command("/proc/self/exe", "-test.run=^$")
	private(try)
	if err := try.Run(); err != nil {
		t.Skip("no private mounts here: ", err)
	}
	child := probetest.StartAs(t, private, "scenario", name, t.TempDir())
	if code := child.Wait(); code != 0 {
		t.Fatalf("scenario %s: exit code %d", name, code)
	}
}

// mount mounts a filesystem for the rest of the scenario.
func mount(p *probetest.Peer, kind, dir, options string) {
	if err := syscall.Mount(kind, dir, kind, 0, options); err != nil {
		p.Fatalf("mount %s: %v", kind, err)
	}
}

func init() {
	scenarios["two roots"] = func(p *probetest.Peer, dir string) {
		var roots []string
		var inodes []uint64
		for _, name := range []string{"a", "b"} {
			root := filepath.Join(dir, name)
			noError(p, os.Mkdir(root, 0o755))
			mount(p, "tmpfs", root, "size=256k")
			var st syscall.Stat_t
			noError(p, syscall.Stat(root, &st))
			roots, inodes = append(roots, root), append(inodes, st.Ino)
		}
		if inodes[0] != inodes[1] {
			p.Fatalf("these show nothing: inodes %v", inodes)
		}
		state, other := filepath.Join(roots[0], "state"), filepath.Join(roots[1], "state.fence")
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		noError(p, err)
		noError(p, lock.WriteFile(other, []byte("theirs"), 0o600))
		if text := content(p, other); text != "theirs" {
			p.Fatalf("there is %q", text)
		}
		noError(p, lock.Check())
		if err := lock.WriteFile(state+".fence", []byte("theirs"), 0o600); err == nil {
			p.Fatalf("the fence of the lock was replaced")
		}
		noError(p, lock.Release())
	}
}

// Two directories with one inode number, each the root of its filesystem, are not the same: the
// names of the files of a lock are free in the other one.
func TestWriteToAnotherRoot(t *testing.T) { inPrivate(t, "two roots") }
