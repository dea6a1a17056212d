package ops_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/ops"
)

// scenario is one change, to be killed in at every step.
type scenario struct {
	name   string
	before []string // verbs that prepare the store
	dead   bool     // they are done by a process that is killed, so that others may claim
	verb   string
	parts  bool // it consists of several changes, each whole or not there
}

var scenarios = []scenario{
	{name: "first", verb: "begin r e"},
	{name: "begin", before: []string{"begin a x"}, verb: "begin r e"},
	{name: "begin after a finished one", before: []string{"begin a e", "swap a cancelled"},
		verb: "begin r e"},
	{name: "swap", before: []string{"begin r e"}, verb: "swap r applying"},
	{name: "second swap", before: []string{"begin r e", "swap r applying"}, verb: "swap r applied"},
	{name: "own", before: []string{"begin r e", "own r d1"}, verb: "own r d2"},
	{name: "accept", before: []string{"begin r e"}, verb: "accept r n"},
	{name: "follow", before: []string{"begin r e", "swap r applying"}, verb: "follow r failed s"},
	{name: "claim", before: []string{"begin r e"}, dead: true, verb: "claim r"},
	{
		name: "archive",
		before: []string{"begin r e", "swap r cancelled", "begin s e", "swap s cancelled",
			"begin t x", "swap t cancelled"},
		verb:  "archive",
		parts: true,
	},
}

// hurry is how many places are left out between two. Where a process takes a second to start, under
// Wine on a busy machine, all of them would take a quarter of an hour.
func hurry() int {
	if testing.Short() || runtime.GOOS != "linux" {
		return 6
	}
	return 0
}

// Whoever is killed, and wherever: the change is there whole or not at all, what was acknowledged
// before it is there, nothing needs a person, the change can be made again, and nothing is left
// over.
func TestKilledAtEveryStep(t *testing.T) {
	for _, links := range []bool{true, false} {
		for _, c := range scenarios {
			name := c.name
			if !links {
				if name += ", without links"; c.parts || strings.HasPrefix(c.verb, "begin") {
					continue // they make none
				}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.killEverywhere(t, links)
			})
		}
	}
}

// prepare makes the store that the change is made in, and returns its summary and a function that
// makes a copy of it.
func (c scenario) prepare(t *testing.T) (before []string, again func() string) {
	t.Helper()
	dir := t.TempDir()
	child := start(t, dir)
	for _, verb := range c.before {
		if said := child.Ask(verb); said != "ok" {
			t.Fatalf("%s: %s", verb, said)
		}
	}
	if c.dead {
		child.Kill()
	}
	return summary(t, open(t, dir, ops.Options{})), func() string {
		to := t.TempDir()
		noError(t, os.CopyFS(to, os.DirFS(dir)))
		return to
	}
}

func (c scenario) killEverywhere(t *testing.T, links bool) {
	before, again := c.prepare(t)
	whole := again()
	if said := start(t, whole).Ask(c.verb); said != "ok" {
		t.Fatalf("without being killed: %s", said)
	}
	after := summary(t, open(t, whole, ops.Options{}))
	if slices.Equal(before, after) {
		t.Fatalf("nothing has changed: %q", after)
	}
	done, points := false, 0
	for n := 1; ; n++ {
		dir := again()
		n += hurry()
		child := start(t, dir)
		if !links {
			child.Send("links no")
		}
		child.Send(fmt.Sprint("stop ", n))
		step := child.Ask(c.verb)
		if step == "ok" {
			break
		}
		points++
		if !strings.HasPrefix(step, "at ") {
			t.Fatalf("step %d: %s", n, step)
		}
		child.Kill()

		store := open(t, dir, ops.Options{})
		now := summary(t, store)
		switch {
		case slices.Equal(now, after):
			done = true
		case c.parts && isMix(now, before, after):
		case !slices.Equal(now, before):
			t.Errorf("killed %s:\n%s\nbefore\n%s\nafter\n%s", step, strings.Join(now, "\n"),
				strings.Join(before, "\n"), strings.Join(after, "\n"))
		case done:
			t.Errorf("killed %s: not done, and was done when killed earlier", step)
		}
		c.goOn(t, dir, step, after, links)
	}
	if points < 4 && hurry() == 0 {
		t.Errorf("only %d places to be killed at", points)
	}
	t.Logf("killed at %d places", points)
}

// goOn makes the change again, in another process, and clears up.
func (c scenario) goOn(t *testing.T, dir, step string, after []string, links bool) {
	t.Helper()
	store := open(t, dir, ops.Options{})
	if c.dead { // the owner may be the process that was killed while it claimed
		for r, err := range store.Recoverable() {
			if noError(t, err); r.Finding.Verdict != identity.Gone {
				t.Errorf("killed %s: the owner is %v", step, r.Finding)
			}
		}
	}
	child := start(t, dir)
	if said := child.Ask(c.verb); said != "ok" && said != "again" {
		t.Fatalf("killed %s, and then: %s", step, said)
	}
	now := summary(t, store)
	if links && !c.dead && !slices.Equal(now, after) {
		t.Errorf("killed %s, made again:\n%s\nwant\n%s", step, strings.Join(now, "\n"),
			strings.Join(after, "\n"))
	}
	for r, err := range store.Recoverable() {
		// At its first revision it may have been begun by the process that was killed.
		if noError(t, err); links && r.Operation.Restored != "" && r.Operation.Revision > 1 {
			t.Errorf("killed %s: %s", step, r.Operation.Restored)
		}
		if said := child.Ask("swap " + r.Operation.ID + " cancelled"); said != "ok" {
			if said := child.Ask("swap " + r.Operation.ID + " applied"); said != "ok" {
				t.Errorf("killed %s, and then %s", step, said)
			}
		}
	}
	if said := child.Ask("archive"); said != "ok" {
		t.Errorf("killed %s, and then %s", step, said)
	}
	child.Close()
	if left := leftovers(t, dir); len(left) != 0 {
		t.Errorf("killed %s: left over: %q", step, left)
	}
}

// isMix reports whether every line of now is one of before or of after, and none is missing.
func isMix(now, before, after []string) bool {
	if len(now) != len(before) || len(now) != len(after) {
		return false
	}
	for _, line := range now {
		if !slices.Contains(before, line) && !slices.Contains(after, line) {
			return false
		}
	}
	return true
}

// Whatever fails, and wherever, on a full disk: the change is there whole or not at all, the error
// says so, and the same process can make it once there is room.
func TestFullAtEveryStep(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.failEverywhere(t)
		})
	}
}

func (c scenario) failEverywhere(t *testing.T) {
	before, again := c.prepare(t)
	whole := again()
	counting := start(t, whole)
	steps := 0
	counting.Send("count")
	said := counting.Ask(c.verb)
	if _, err := fmt.Sscanf(said, "%d steps, ok", &steps); err != nil || steps < 4 {
		t.Fatalf("counting: %s, %v", said, err)
	}
	after := summary(t, open(t, whole, ops.Options{}))
	for n := 1; n <= steps; n++ {
		n += hurry()
		dir := again()
		child := start(t, dir)
		child.Send(fmt.Sprint("full ", n))
		said := child.Ask(c.verb)
		now := summary(t, open(t, dir, ops.Options{}))
		switch {
		case said == "ok": // it could do without
			if !slices.Equal(now, after) {
				t.Errorf("step %d failed and nobody says so:\n%s", n, strings.Join(now, "\n"))
			}
		case said != "full" && said != "unsure":
			t.Errorf("step %d: %s", n, said)
		case !slices.Equal(now, before) && !slices.Equal(now, after) &&
			!(c.parts && isMix(now, before, after)):
			t.Errorf("step %d failed:\n%s\nbefore\n%s", n, strings.Join(now, "\n"),
				strings.Join(before, "\n"))
		}
		if said := child.Ask(c.verb); said != "ok" && said != "again" {
			t.Errorf("step %d failed, and then: %s", n, said)
		}
		child.Close()
		if left := leftovers(t, dir); len(left) != 0 {
			t.Errorf("step %d failed: left over: %q", n, left)
		}
	}
}

// The same between system calls that change files or take locks, those of the lock among them:
// before every third one, in each scenario other ones.
func TestKilledAtCalls(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("processes can be killed at chosen system calls on Linux only, amd64 and arm64")
	}
	for i, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before, again := c.prepare(t)
			whole := again()
			start(t, whole).Ask(c.verb)
			after := summary(t, open(t, whole, ops.Options{}))
			points := 0
			for n := 1 + i%3; ; n += 3 {
				n += hurry()
				dir := again()
				child := start(t, dir)
				child.Send(fmt.Sprint("kill ", n))
				child.Send(c.verb)
				said, alive := child.Next()
				child.Kill()
				if alive {
					if said != "ok" {
						t.Fatalf("call %d: %s", n, said)
					}
					break
				}
				points++
				now := summary(t, open(t, dir, ops.Options{}))
				if !slices.Equal(now, before) && !slices.Equal(now, after) &&
					!(c.parts && isMix(now, before, after)) {
					t.Errorf("killed before call %d:\n%s\nbefore\n%s\nafter\n%s", n,
						strings.Join(now, "\n"), strings.Join(before, "\n"), strings.Join(after, "\n"))
				}
				c.goOn(t, dir, fmt.Sprint("before call ", n), after, true)
			}
			t.Logf("killed at %d calls", points)
		})
	}
}
