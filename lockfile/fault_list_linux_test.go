//go:build amd64 || arm64

package lockfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

func init() {
	// lister lists a folder, while no folder can be read: it says "STATE: error" for each error.
	probetest.Register("lister", func(p *probetest.Peer) {
		p.Check(failCalls(syscall.EIO, sysFilter{call: unix.SYS_GETDENTS64, arg: -1}))
		for in, err := range lockfile.List(p.Arg(0), lockfile.Options{}) {
			if err != nil {
				p.Send(in.State + ": " + err.Error())
			}
		}
		p.Send("end")
	})
}

// A folder that could be opened and not read is no empty one.
func TestListCannotReadTheFolder(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	dir := filepath.Dir(state)
	child := probetest.Start(t, "lister", dir)
	if said := child.Line(); !strings.HasPrefix(said, dir+": ") ||
		!strings.Contains(said, "read the directory") ||
		!strings.Contains(said, syscall.EIO.Error()) {
		t.Errorf("it says %q", said)
	} else {
		child.Expect("end")
	}
	noError(t, lock.Release())
}
