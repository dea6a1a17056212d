//go:build amd64 || arm64

package lockfile_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// crashing is something to be killed in, before every step that changes the disk.
type crashing struct {
	name string
	// before prepares the state, and returns the largest number that was handed out there.
	before func(t *testing.T, state string) (used int)
	knobs  knobs
	verbs  []string
	// fails are steps that this filesystem shall not be able to do, by the beginning of their text.
	fails map[string]syscall.Errno
}

var crashings = []crashing{
	{
		name:   "first tenure",
		knobs:  flushed,
		verbs:  []string{"acquire", "write one", "write two", "release"},
		before: func(*testing.T, string) int { return 0 },
	},
	{
		name:   "first tenure, only names",
		knobs:  flushed,
		verbs:  []string{"acquire", "write one", "write two", "release"},
		before: func(*testing.T, string) int { return 0 },
		fails:  map[string]syscall.Errno{"create-unnamed": unix.EOPNOTSUPP},
	},
	{
		name:   "writing another file",
		knobs:  flushed,
		verbs:  []string{"acquire", "write-other DIR/other"},
		before: func(*testing.T, string) int { return 0 },
	},
	{name: "takeover", before: abandoned, knobs: flushed, verbs: []string{"acquire", "release"}},
	{
		name:   "takeover without exchange",
		before: abandonedOften,
		knobs:  flushed,
		verbs:  []string{"acquire"},
		fails:  map[string]syscall.Errno{"exchange": unix.EINVAL},
	},
	{
		name:   "takeover without renames",
		before: abandoned,
		verbs:  []string{"acquire"},
		knobs:  flushed,
		fails:  map[string]syscall.Errno{"exchange": unix.ENOSYS, "rename-noreplace": unix.ENOSYS},
	},
	{name: "takeover in place", before: abandoned, verbs: []string{"acquire"}, knobs: flushed,
		fails: map[string]syscall.Errno{"exchange": unix.ENOSYS, "rename-noreplace": unix.ENOSYS,
			"link": unix.EPERM}},
	{name: "recover", before: abandonedOften, knobs: flushed, verbs: []string{"recover"}},
	{name: "number of its own", before: abandoned, verbs: []string{"acquire"},
		knobs: knobs{Durability: lockfile.FlushFirst, FreshToken: true}},
}

// Whoever is killed, and wherever, in the middle of a write too: the record is absent or whole, the
// next one acquires without a person, nothing is left over, and no number is given twice. (I3, I4,
// I6, I7)
func TestKilledAtEveryStep(t *testing.T) {
	for _, c := range crashings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			points := 0
			for n := 1; ; n++ {
				survived := false
				if !t.Run(fmt.Sprint(n), func(t *testing.T) { survived = c.killAt(t, n) }) ||
					survived {
					break
				}
				if points++; testing.Short() {
					n += 4
				}
			}
			if points < 3 {
				t.Errorf("only %d places to be killed at", points)
			}
			t.Logf("killed at %d places", points)
		})
	}
}

// killAt kills before change n, and looks at what is left. It reports whether there was no such
// change.
func (c *crashing) killAt(t *testing.T, n int) (survived bool) {
	state := newState(t)
	used := c.before(t, state)
	child := startActor(t, state, c.knobs)
	k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
	acked := "nothing"
	point := countdown{n: n, fails: c.fails}
	for _, verb := range c.verbs {
		child.Send(strings.ReplaceAll(verb, "DIR", filepath.Dir(state)))
		k.run(func(s step) syscall.Errno { return point.decide(t, s) })
		if point.reached {
			break
		}
		reply := child.Line()
		if word, _, _ := strings.Cut(reply, " "); word != "ok" && word != "held" {
			t.Fatalf("%s: %s", verb, reply)
		}
		if text, ok := strings.CutPrefix(verb, "write "); ok {
			acked = text
		}
	}
	child.Kill()
	c.knobs.aftermath(t, state, used, acked)
	return !point.reached
}

// countdown is the way to the n-th place to be killed at: before every change, and in the middle of
// every write.
type countdown struct {
	n       int
	reached bool
	fails   map[string]syscall.Errno
}

func (c *countdown) decide(t probetest.TB, s step) syscall.Errno {
	for text, errno := range c.fails {
		if s.verb() == text {
			return errno
		}
	}
	if !s.changes() {
		return 0
	}
	if c.n--; c.n == 0 {
		t.Logf("killed before it could %s", s.text)
		c.reached = true
		return killHere
	}
	if !s.writes() {
		return 0
	}
	if c.n--; c.n == 0 {
		t.Logf("killed half-way through %s", s.text)
		unforked(func() { s.half(t) })
		c.reached = true
		return killHere
	}
	return 0
}

// A person who breaks a living holder's lock is killed on the way: the holder has its lock, or is
// told that it is fenced, and can clear up; it never commits after the counter was raised. (I2, I4)
func TestBreakerKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	var ends []string
	for n, survived := 1, false; !survived; n++ {
		survived = !t.Run(fmt.Sprint(n), func(t *testing.T) {
			var end string
			end, survived = breakerKilledAt(t, n)
			ends = append(ends, end)
		}) || survived
	}
	ends = slices.Compact(ends)
	if !slices.Equal(ends, []string{"has it", "fenced", "broken"}) {
		t.Errorf("from step to step the holder %q", ends)
	}
}

func breakerKilledAt(t *testing.T, n int) (end string, survived bool) {
	state := newState(t)
	holder := startActor(t, state)
	id, _, _ := tenureOf(t, holder.Ask("acquire"))
	expect(t, holder, "write held", "ok")
	breaker := startActor(t, state, flushed)
	survived = killBefore(t, breaker, state, "break "+id, n)
	return afterBreaker(t, state, id, holder), survived
}

// killBefore kills a child before change n of a verb. It reports whether there was no such change.
func killBefore(t *testing.T, child *probetest.Child, state, verb string, n int) (survived bool) {
	t.Helper()
	k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
	child.Send(verb)
	point := countdown{n: n}
	k.run(func(s step) syscall.Errno { return point.decide(t, s) })
	if !point.reached {
		if said := child.Line(); said != "ok" {
			t.Fatalf("%s: %s", verb, said)
		}
	}
	return !point.reached
}
