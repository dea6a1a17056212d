//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

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
