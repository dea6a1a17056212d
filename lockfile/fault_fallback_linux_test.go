//go:build amd64 || arm64

package lockfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// lacks is what filesystems and sandboxes are known to lack, and how they say it. (B66, B69)
var lacks = map[string][]struct {
	errno syscall.Errno
	rules []sysFilter
}{
	"exchange EINVAL": {{unix.EINVAL, exchanges}},
	"renames ENOSYS":  {{unix.ENOSYS, renames}},
	"renames EINVAL":  {{unix.EINVAL, renames}},
	"renames EPERM":   {{unix.EPERM, renames}},
	"links EPERM":     {{unix.EPERM, links}},

	"renames and links EPERM":      {{unix.EINVAL, renames}, {unix.EPERM, links}},
	"renames and links EACCES":     {{unix.ENOSYS, renames}, {unix.EACCES, links}},
	"renames and links EOPNOTSUPP": {{unix.EINVAL, renames}, {unix.EOPNOTSUPP, links}},
	"renames and links ENOSYS":     {{unix.ENOSYS, renames}, {unix.ENOSYS, links}},
	"renames and links EINVAL":     {{unix.EINVAL, renames}, {unix.EINVAL, links}},
	"renames and links EXDEV":      {{unix.EINVAL, renames}, {unix.EXDEV, links}},
	"renames and links EMLINK":     {{unix.EINVAL, renames}, {unix.EMLINK, links}},

	"kernel locks ENOLCK":     {{unix.ENOLCK, kernelLocks}},
	"kernel locks ENOSYS":     {{unix.ENOSYS, kernelLocks}},
	"kernel locks EBADF":      {{unix.EBADF, kernelLocks}},
	"kernel locks EOPNOTSUPP": {{unix.EOPNOTSUPP, kernelLocks}},
}

var (
	exchanges   = []sysFilter{{unix.SYS_RENAMEAT2, 4, isValue, unix.RENAME_EXCHANGE}}
	renames     = []sysFilter{{call: unix.SYS_RENAMEAT2, arg: -1}}
	links       = []sysFilter{{call: unix.SYS_LINKAT, arg: -1}}
	kernelLocks = []sysFilter{{unix.SYS_FCNTL, 1, isValue, unix.F_OFD_SETLK},
		{unix.SYS_FCNTL, 1, isValue, unix.F_OFD_GETLK}}
)

func init() {
	// lack makes the child live with what is missing from now on.
	verbs["lack"] = func(_ *script, what string) string {
		for _, f := range lacks[what] {
			if err := failCalls(f.errno, f.rules...); err != nil {
				return oneLine(err)
			}
		}
		return "ok"
	}
	verbs["capabilities"] = func(s *script, dir string) string {
		c, err := lockfile.CapabilitiesOf(dir, lockfile.Options{})
		if err != nil {
			return said(err)
		}
		exchange := map[bool]string{true: "exchange"}[c.Exchange]
		return strings.Join([]string{c.Publish, exchange, c.KernelLock}, ",")
	}
}

// Where a call is missing another one does, and exclusion holds: eight contenders, on a free lock
// and on dead records.
func TestFallbacks(t *testing.T) {
	for what, publish := range map[string]string{
		"exchange EINVAL":              "rename,,ofd",
		"renames ENOSYS":               "link,,ofd",
		"renames EINVAL":               "link,,ofd",
		"renames EPERM":                "link,,ofd",
		"links EPERM":                  "rename,exchange,ofd",
		"renames and links EPERM":      "create and write,,ofd",
		"renames and links EACCES":     "create and write,,ofd",
		"renames and links EOPNOTSUPP": "create and write,,ofd",
		"renames and links ENOSYS":     "create and write,,ofd",
		"renames and links EINVAL":     "create and write,,ofd",
		"renames and links EXDEV":      "create and write,,ofd",
		"renames and links EMLINK":     "create and write,,ofd",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			race := startContenders(t, map[bool]int{true: 3, false: 8}[testing.Short()], state)
			race.gap = !strings.Contains(publish, "exchange")
			race.all(t, "lack "+what, "ok")
			expect(t, race.children[0], "capabilities "+filepath.Dir(state), publish)
			race.turn(t, "", 0, false) // makes the fence too
			race.turn(t, "", 0, false)
			for round := 1; round <= 3; round++ {
				dead := startActor(t, state)
				expect(t, dead, "lack "+what, "ok")
				_, token, _ := tenureOf(t, dead.Ask("acquire"))
				if token != round-1 {
					t.Fatalf("token %d in round %d", token, round)
				}
				dead.Kill()
				race.turn(t, "", round, true)
			}
			noLeftovers(t, state)
			fencesGrow(t, state, 3)
		})
	}
}

// A filesystem without kernel locks is refused, unless the caller accepts what is lost; the record
// says so.
func TestNoKernelLocks(t *testing.T) {
	for what := range lacks {
		if !strings.HasPrefix(what, "kernel locks") {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			child, other := startActor(t, state), startActor(t, state)
			expect(t, child, "lack "+what, "ok")
			expect(t, other, "lack "+what, "ok")
			expect(t, child, "capabilities "+filepath.Dir(state), "rename,exchange,none")
			said := child.Ask("acquire")
			wantText(t, said, "failed unsupported", state, lockfile.ErrNoKernelLock.Error(),
				"WithoutKernelLock")
			if in := inspect(t, state); in.Verdict != identity.Free {
				t.Errorf("after a refusal: %v", in.Finding)
			}
			noLeftovers(t, state)

			setKnobs(t, child, knobs{WithoutKernelLock: true})
			setKnobs(t, other, knobs{WithoutKernelLock: true})
			id, _, _ := tenureOf(t, child.Ask("acquire"))
			wantText(t, other.Ask("try"), "busy", "process-running")
			in := inspect(t, state)
			if in.LockID != id || in.Verdict != identity.Alive || in.Owner.KernelLock != "none" ||
				in.Reason != identity.ProcessRunning {
				t.Errorf("%v, kernel lock %s", in.Finding, in.Owner.KernelLock)
			}
			if strings.Contains(content(t, state+".lock"), "kernelLock") {
				t.Errorf("the record is %s", content(t, state+".lock"))
			}
			expect(t, child, "write one", "ok")
			expect(t, child, "check", "ok")
			expect(t, child, "release", "ok")
			tenureOf(t, child.Ask("try"))
			child.Kill()
			if in := inspect(t, state); in.Verdict != identity.Gone ||
				in.Reason != identity.NoSuchProcess {
				t.Errorf("%v", in.Finding)
			}
			if _, token, recovered := tenureOf(t, other.Ask("acquire")); token != 1 || !recovered {
				t.Errorf("token %d, recovered %v", token, recovered)
			}
			expect(t, other, "write two", "ok")
			expect(t, other, "release", "ok")
			noLeftovers(t, state)
		})
	}
}

// A kernel lock that a security module forbids is no permission to go on without, and nobody's
// lock.
func TestKernelLocksForbidden(t *testing.T) {
	state := newState(t)
	child := startActor(t, state, knobs{WithoutKernelLock: true})
	k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
	child.Send("acquire")
	k.run(func(s step) syscall.Errno {
		if s.verb() == "lock" {
			return unix.EACCES
		}
		return 0
	})
	wantText(t, child.Line(), "failed permission", state, "permission denied")
	if in := inspect(t, state); in.Verdict != identity.Free {
		t.Errorf("after a refusal: %v", in.Finding)
	}
}

// all tells every child the same, and expects that answer.
func (c *contenders) all(t probetest.TB, verb, want string) {
	t.Helper()
	for _, child := range c.children {
		expect(t, child, verb, want)
	}
}
