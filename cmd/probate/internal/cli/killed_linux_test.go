package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every verb that can be killed is, before each of its file operations and in the middle of each of
// its writes, as a real process that ends itself with SIGKILL. Whatever it leaves: the record is
// absent or whole, the state old or new, one plain recover or run puts everything in order, files
// are bounded, the log reads, no number is given twice, and looking changes nothing.
func TestKilledAtEveryOperation(t *testing.T) {
	for _, e := range errands {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			self := selfAs(t, d, "probate-seam")
			points := e.points(t, d, self)
			some := 8
			if e.verb == "inspect" {
				some = 2
			}
			tried, died := sample(t, len(points), some), 0
			for _, i := range tried {
				if e.killAt(t, d, self, points[i], i%2 == 0) {
					died++
				} else if i < len(points)-resting {
					t.Errorf("%s was not reached, of %d places", points[i], len(points))
				}
			}
			if died*2 < len(tried) {
				t.Errorf("killed at %d places only, %d were tried", died, len(tried))
			}
			t.Logf("killed at %d of %d places", died, len(points))
		})
	}
}

// resting is how many operations more a tenure takes that lasts longer than a few milliseconds: it
// lets its directory and its gate go, and opens them again; and when the release removes the
// record, who watches it looks up to three times, with seven operations, if the process still runs
// then. Which run does is the machine's doing, so the last places of one run may not be there in
// the next.
const resting = 10 + 3*7

// selfAs is a path of this test binary under another name.
func selfAs(t *testing.T, d *desk, name string) string {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	path := filepath.Join(d.root, name)
	check(t, os.Symlink(exe, path))
	return path
}

// points lists the places to be killed at, as "kill 3 lock state.fence", of a command that nobody
// kills.
func (e *errand) points(t *testing.T, d *desk, self string) []string {
	t.Helper()
	c := e.before(t, d)
	trace := filepath.Join(d.root, "trace")
	cmd := as("probate-seam", e.command(c, self)...)
	cmd.Env = append(cmd.Env, seamEnv+"=trace "+e.verb+" "+trace)
	cmd.Stdin = strings.NewReader(newContent)
	if died, code, said := killed(t, cmd); died || code != e.healthyCode(c) {
		t.Fatalf("%q: exit code %d: %s", cmd.Args, code, said)
	}
	if c.holder != nil {
		c.settle(t, look(t, c.state))
	}
	text, err := os.ReadFile(trace)
	check(t, err)
	points := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(points) < 4 {
		t.Fatalf("only %d places to be killed at", len(points))
	}
	return points
}

// healthyCode is the exit code where nothing happens on the way.
func (e *errand) healthyCode(c *client) int {
	if e.verb != "inspect" {
		return e.code
	}
	return verdictCode(c.was.Verdict)
}

func (e *errand) killAt(t *testing.T, d *desk, self, point string, byRun bool) (died bool) {
	t.Run(strings.ReplaceAll(point, "/", "|"), func(t *testing.T) {
		c := e.before(t, d)
		how, rest, _ := strings.Cut(point, " ")
		n, _, _ := strings.Cut(rest, " ")
		cmd := as("probate-seam", e.command(c, self)...)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s %s %s", seamEnv, how, e.verb, n))
		cmd.Stdin = strings.NewReader(newContent)
		var code int
		var said string
		died, code, said = killed(t, cmd)
		if e.args[0] == "run" && e.verb != "run" && code == 128+9 {
			died = true // of "run -- write" the inner command dies, and run says so
		}
		if !died && code != e.healthyCode(c) {
			t.Errorf("%q: exit code %d: %s", cmd.Args, code, said)
		}
		e.cutShort(t, c)
		e.restored(t, c, byRun)
	})
	return died
}
