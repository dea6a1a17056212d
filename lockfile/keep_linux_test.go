//go:build amd64 || arm64

package lockfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

func init() {
	probetest.Register("keeper", func(p *probetest.Peer) {
		state := p.Arg(0)
		p.Check(failCalls(syscall.EINVAL, sysFilter{unix.SYS_RENAMEAT2, 4, isValue,
			unix.RENAME_EXCHANGE}))
		if p.Arg(1) == "no-links" {
			p.Check(failCalls(syscall.EPERM, sysFilter{call: unix.SYS_LINKAT, arg: -1}))
		}
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		p.Check(err)
		for _, data := range []string{"1", "2", "3"} {
			p.Check(lock.WriteFileKeeping(state, filepath.Base(state)+".previous", []byte(data),
				0o600))
			if data == "2" && p.Arg(1) == "links" { // as after a crash between the two renames
				p.Check(os.Remove(state + ".previous"))
				p.Check(os.Link(state, state+".previous"))
			}
		}
		p.Check(lock.Release())
		p.Send("done")
	})
}

// Where two names cannot be exchanged, and where a file can have one name only, it is the same.
func TestWriteFileKeepingFallback(t *testing.T) {
	for _, how := range []string{"links", "no-links"} {
		t.Run(how, func(t *testing.T) {
			state := newState(t)
			child := probetest.Start(t, "keeper", state, how)
			child.Expect("done")
			child.Close()
			holds(t, state, "3")
			holds(t, state+".previous", "2")
			onlyFiles(t, state, "", ".previous", ".fence")
		})
	}
}
