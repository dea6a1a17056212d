//go:build amd64 || arm64

package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

func init() {
	verbs["state"] = func(s *script, path string) string {
		s.path = path
		return "ok"
	}
}

// What each errno is for a program that reads the kind.
var kinds = []struct {
	errno syscall.Errno
	kind  lockfile.Kind
}{
	{unix.EACCES, lockfile.KindPermission}, {unix.EROFS, lockfile.KindReadOnly},
	{unix.ENOSPC, lockfile.KindNoSpace}, {unix.EDQUOT, lockfile.KindNoSpace},
	{unix.ENOLCK, lockfile.KindIO}, {unix.EOPNOTSUPP, lockfile.KindUnsupported},
	{unix.EIO, lockfile.KindIO}, {unix.EINTR, lockfile.KindIO}, {unix.ESTALE, lockfile.KindIO},
	{unix.EEXIST, lockfile.KindIO},
}

var stepVerbs = []string{"create", "create-unnamed", "open", "write", "flush", "lock", "test-lock", "link",
	"rename-noreplace", "exchange", "rename", "remove", "look-at", "look-at-open", "read"}

// Whatever the system answers, to whatever call, for ever or once: never a lock without a whole record, never success
// without the lock, and the error says where and what. (I8)
func TestErrnos(t *testing.T) {
	base := newState(t)
	faulty := startActor(t, base, knobs{Durability: lockfile.FlushFirst, GateWait: 20e6})
	sound := startActor(t, base)
	k := newTap(t, faulty, filepath.Dir(base), faulty.Ask("tap"))
	run := 0
	for _, dead := range []bool{false, true} {
		for _, verb := range stepVerbs {
			for _, e := range kinds {
				run++
				dir := filepath.Join(filepath.Dir(base), fmt.Sprint(run))
				noError(t, os.Mkdir(dir, 0o700))
				state := filepath.Join(dir, "state")
				k.dir = dir
				for _, child := range []*probetest.Child{sound} {
					expect(t, child, "state "+state, "ok")
				}
				before := lockfile.Inspection{}
				if dead {
					abandon(t, state)
					before = inspect(t, state)
				}
				faulty.Send("state " + state)
				k.run(func(step) syscall.Errno { return 0 })
				faulty.Expect("ok")
				steps := 0
				faulty.Send("try")
				k.run(func(s step) syscall.Errno {
					if s.verb() == verb {
						steps++
						return e.errno
					}
					return 0
				})
				said := faulty.Line()
				if steps == 0 {
					continue
				}
				t.Logf("dead %v %s %v: %d steps: %s", dead, verb, e.errno, steps, strings.ReplaceAll(said, state, "S"))
				_ = before
				_ = identity.Free
			}
		}
	}
}
