//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package statefile_test

import (
	"os"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/statefile"
)

// A stopped writer is alive, for as long as it takes: its lock is not taken by age. When a person
// takes it away all the same, the writer is refused when it wakes up, and nothing is changed.
func TestStoppedAndOvertaken(t *testing.T) {
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	child := probetest.Start(t, "writer", f.Path())
	child.Send("hold")
	child.Expect("inside")
	child.Stop()
	old := time.Now().Add(-48 * time.Hour)
	noError(t, os.Chtimes(f.Path()+".lock", old, old)) // however old it looks
	_, err := f.TryUpdate(increment)
	wants(t, err, statefile.ErrContended)
	stands(t, f, 1, -1)

	breakLock(t, f.Path())
	noError(t, f.Save(always, counter{}.plus(10)))
	noError(t, f.Save(always, counter{}.plus(20)))
	child.Cont()
	child.Send("go")
	child.Expect("fenced")
	stands(t, f, 20, 10)
	child.Send("add 1")
	child.Expect("ok")
	stands(t, f, 21, 20)
}

// A stopped writer that nobody overtook goes on where it was.
func TestStoppedGoesOn(t *testing.T) {
	f := newFile(t)
	child := probetest.Start(t, "writer", f.Path())
	child.Send("hold")
	child.Expect("inside")
	child.Stop()
	_, err := f.TryUpdate(increment)
	wants(t, err, statefile.ErrContended)
	child.Cont()
	child.Send("go")
	child.Expect("ok")
	stands(t, f, 1, -1)
}
