//go:build amd64 || arm64

package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// kinds is what a failure with each errno is for a program that reads the kind. (B34)
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

// faultBench runs acquires with faults, each on a state of its own.
type faultBench struct {
	t             *testing.T
	dir           string
	faulty, sound *probetest.Child
	tap           *tap
	runs, states  int
	dead          []string // states whose owner is dead
}

func newFaultBench(t *testing.T) *faultBench {
	base := newState(t)
	b := &faultBench{t: t, dir: filepath.Dir(base), faulty: startActor(t, base, knobs{
		Durability: lockfile.FlushFirst, GateWait: 20 * time.Millisecond}),
		sound: startActor(t, base)}
	b.tap = newTap(t, b.faulty, b.dir, b.faulty.Ask("tap"))
	return b
}

// next returns a state that nobody used before, free or with a dead owner. One process dies for
// many.
func (b *faultBench) next(dead bool) (state string) {
	t := b.t
	t.Helper()
	if n := len(b.dead); dead && n > 0 {
		state, b.dead = b.dead[n-1], b.dead[:n-1]
		return state
	}
	fresh := func() string {
		b.states++
		dir := filepath.Join(b.dir, fmt.Sprint(b.states))
		noError(t, os.Mkdir(dir, 0o700))
		return filepath.Join(dir, "state")
	}
	if !dead {
		return fresh()
	}
	victim := startActor(t, b.dir)
	for range 50 {
		state := fresh()
		expect(t, victim, "state "+state, "ok")
		tenureOf(t, victim.Ask("acquire"))
		b.dead = append(b.dead, state)
	}
	victim.Kill()
	return b.next(true)
}

// faultOutcome is how an acquire with faults ended.
type faultOutcome struct {
	said  string
	hit   []string // the steps that failed
	about string
}

// try acquires a free or an abandoned lock, with faults as decide says, and checks what must hold
// whatever they are: a lock only with a whole record, nothing without, and the next one acquires.
func (b *faultBench) try(name string, dead bool, decide func(step) syscall.Errno) faultOutcome {
	t := b.t
	t.Helper()
	b.runs++
	state := b.next(dead)
	o := faultOutcome{about: fmt.Sprintf("%s, dead owner %v", name, dead)}
	before := inspect(t, state)
	b.tap.dir = filepath.Dir(state)
	healthy := func(step) syscall.Errno { return 0 }
	ask := func(verb string, decide func(step) syscall.Errno) string {
		b.faulty.Send(verb)
		b.tap.run(decide)
		return b.faulty.Line()
	}
	if said := ask("state "+state, healthy); said != "ok" {
		t.Fatal(said)
	}
	o.said = ask("try", func(s step) syscall.Errno {
		errno := decide(s)
		if errno != 0 {
			o.hit = append(o.hit, s.text)
		}
		return errno
	})
	b.tap.meanwhile(func() { b.afterwards(o, state, before) })
	if strings.HasPrefix(o.said, "held ") {
		if said := ask("write text", healthy); said != "ok" {
			t.Errorf("%s: write: %s", o.about, said)
		}
		if said := ask("release", healthy); said != "ok" {
			t.Errorf("%s: release: %s", o.about, said)
		}
	}
	token := 0
	b.tap.meanwhile(func() {
		expect(t, b.sound, "state "+state, "ok")
		_, token, _ = tenureOf(t, b.sound.Ask("acquire 1m"))
		if dead && token == 0 {
			t.Errorf("%s: fence 0 after a takeover", o.about)
		}
		expect(t, b.sound, "release", "ok")
	})
	if odd := leftovers(t, state); len(odd) != 0 {
		t.Errorf("%s: %s; left over: %q", o.about, o.said, odd)
	}
	if dead {
		fencesGrow(t, state, token)
	}
	return o
}

// afterwards compares what was said with what there is.
func (b *faultBench) afterwards(o faultOutcome, state string, before lockfile.Inspection) {
	t := b.t
	t.Helper()
	dead := before.Verdict == identity.Gone
	in := inspect(t, state)
	if strings.HasPrefix(o.said, "held ") {
		id, token, recovered := tenureOf(t, o.said)
		if in.Reason != identity.KernelLockHeld || in.LockID != id || in.Format != "record-v2" ||
			recovered != dead || token != map[bool]int{true: 1}[dead] ||
			int(in.Fence.Counter) != token {
			t.Errorf("%s: %s, and then %v, fence %+v", o.about, o.said, in.Finding, in.Fence)
		}
		return
	}
	for end := time.Now().Add(probetest.Patience); ; in = inspect(t, state) {
		switch {
		case in.LockID == before.LockID && in.Verdict == before.Verdict:
			return
		case dead && in.Verdict == identity.Free && in.Fence.Counter == 1:
			return // taken over, and let go again
		case time.Now().After(end):
			t.Fatalf(
				"%s: %s, %s; it was %v, it is %v",
				o.about,
				o.hit,
				o.said,
				before.Finding,
				in.Finding,
			)
		}
		// What was published and cannot be withdrawn at once is withdrawn a little later.
		time.Sleep(5 * time.Millisecond)
	}
}

// explained checks that a refusal names the state and the cause, and nobody who holds the lock.
func (o faultOutcome) explained(t *testing.T, errno syscall.Errno, kind lockfile.Kind) {
	t.Helper()
	if strings.HasPrefix(o.said, "held ") {
		return
	}
	switch {
	case strings.Contains(o.said, ": held"), strings.Contains(o.said, "holds the gate"),
		strings.Contains(o.said, "no kernel locks") && !strings.Contains(o.hit[0], "lock "):
		t.Errorf("%s: a wrong answer: %s", o.about, o.said)
	case !strings.Contains(o.said, "/state"):
		t.Errorf("%s: no path in %s", o.about, o.said)
	case strings.HasPrefix(o.said, "failed ") &&
		!strings.HasPrefix(o.said, "failed "+string(kind)+" "):
		t.Errorf("%s: want kind %s: %s", o.about, kind, o.said)
	case errno == unix.ESTALE && strings.Contains(o.said, "record-changing"):
		// Looked at again and again, and never the same file: that is all there is to say.
	case errno == unix.EEXIST && strings.Contains(o.said, "somebody else was first"):
	case !strings.Contains(o.said, errno.Error()):
		t.Errorf("%s: nothing about %v: %s", o.about, errno, o.said)
	}
}

// A call fails for ever, with every errno in turn. (I8, B34, B45, B66, B70)
func TestCallFailsForEver(t *testing.T) {
	t.Parallel()
	b := newFaultBench(t)
	failing := map[string]int{}
	for _, dead := range []bool{false, true} {
		for _, verb := range []string{"create", "create-unnamed", "open", "write", "flush", "lock",
			"test-lock", "link", "rename-noreplace", "exchange", "remove", "look-at",
			"look-at-open", "read"} {
			for i, e := range kinds {
				if testing.Short() && i%4 != 0 {
					continue
				}
				name := fmt.Sprintf("every %s fails with %v", verb, e.errno)
				o := b.try(name, dead, func(s step) syscall.Errno {
					if s.verb() == verb {
						return e.errno
					}
					return 0
				})
				if len(o.hit) == 0 {
					break // no such call on this way
				}
				failing[verb]++
				kind := e.kind
				if e.errno == unix.ENOLCK && strings.HasSuffix(verb, "lock") {
					kind = lockfile.KindUnsupported
				}
				o.explained(t, e.errno, kind)
				if verb == "lock" && !strings.HasPrefix(o.said, "failed ") {
					t.Errorf("%s: a lock without the kernel's: %s", o.about, o.said)
				}
			}
		}
	}
	if len(failing) != 14 {
		t.Errorf("calls that failed: %v, want all 14", failing)
	}
	t.Logf("%d runs", b.runs)
}

// Each single call fails once.
func TestCallFailsOnce(t *testing.T) {
	t.Parallel()
	b := newFaultBench(t)
	for _, errno := range []syscall.Errno{unix.EIO, unix.ENOSPC, unix.ESTALE} {
		for _, dead := range []bool{false, true} {
			for n := 1; ; n++ {
				left := n
				o := b.try(
					fmt.Sprintf("call %d fails with %v", n, errno),
					dead,
					func(step) syscall.Errno {
						if left--; left == 0 {
							return errno
						}
						return 0
					},
				)
				if len(o.hit) == 0 {
					if n < 30 {
						t.Errorf("%s: only %d calls", o.about, n)
					}
					break
				}
				o.about += ": " + o.hit[0]
				kind := map[syscall.Errno]lockfile.Kind{unix.ENOSPC: lockfile.KindNoSpace}[errno]
				if kind == "" {
					kind = lockfile.KindIO
				}
				o.explained(t, errno, kind)
				if errno != unix.EIO || testing.Short() { // one errno for every call is enough
					n += 2
				}
			}
		}
	}
	t.Logf("%d runs", b.runs)
}
