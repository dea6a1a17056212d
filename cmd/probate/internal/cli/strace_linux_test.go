package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// callClasses are the system calls behind the file operations, by what they are about. Those with a
// question mark are 32-bit programs'.
var callClasses = map[string]string{
	"path":   "openat,newfstatat,statx,?fstatat64",
	"lock":   "fcntl,flock,?fcntl64",
	"rename": "renameat,renameat2,linkat,unlinkat",
	"write":  "write,pwrite64,ftruncate,?ftruncate64,fchmod,fchown,?fchown32",
	"flush":  "fsync",
}

// What the seam cannot see: killed by the kernel at the entry of a system call, whoever makes it
// (the runtime and the probes too). The places are counted for each thread, as strace does.
func TestKilledAtSystemCalls(t *testing.T) {
	strace := findStrace(t)
	for _, name := range []string{"run, owner dead", "write, owner dead", "write of CMD, owner dead",
		"recover, owner dead",
		"break, owner alive", "inspect, record torn"} {
		e := &errands[slices.IndexFunc(errands, func(e errand) bool { return e.name == name })]
		for class, calls := range callClasses {
			t.Run(name+"/"+class, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				self := selfAs(t, d, "probate")
				most := e.callsOfOneThread(t, d, strace, self, calls)
				died := 0
				tried := sample(t, most, 1)
				for _, i := range tried {
					c := e.before(t, d)
					inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", calls, i+1)
					args := append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + calls,
						"-e", inject, self}, e.command(c, self)...)
					gone, code, said := e.underStrace(t, strace, args)
					if gone {
						died++
					} else if code != e.healthyCode(c) {
						t.Errorf("%q: exit code %d: %s", args, code, said)
					}
					e.cutShort(t, c)
					e.restored(t, c, i%2 == 0)
					if t.Failed() {
						t.Fatalf("after %q", args)
					}
				}
				if most > 0 && died == 0 && *everyStep {
					t.Errorf("never killed at one of %d calls", most)
				}
				t.Logf("killed at %d of %d calls", died, most)
			})
		}
	}
}

// findStrace skips where no process can be traced.
func findStrace(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here")
	}
	try := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace=fsync",
		"-e", "inject=fsync:signal=KILL:when=1000", "/bin/true")
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v: %s", err, out)
	}
	return strace
}

// underStrace reports whether the command was killed. Its children are traced too: whoever is hit
// is meant.
func (e *errand) underStrace(t *testing.T, strace string, args []string) (bool, int, string) {
	t.Helper()
	cmd := exec.Command(strace, args...)
	cmd.Env = cleanEnv()
	cmd.Stdin = strings.NewReader(newContent)
	died, code, said := killed(t, cmd)
	return died || e.runsCMD() && code == 128+9, code, said
}

func (e *errand) runsCMD() bool { return slices.Contains(e.args, "--") }

// callsOfOneThread is the largest number of such calls that one thread makes.
func (e *errand) callsOfOneThread(
	t *testing.T, d *desk, strace, self, calls string,
) (most int) {
	t.Helper()
	c := e.before(t, d)
	log := filepath.Join(d.root, "calls")
	args := append([]string{"-f", "-qq", "-o", log, "-e", "trace=" + calls, "-e", "signal=none",
		self}, e.command(c, self)...)
	if _, code, said := e.underStrace(t, strace, args); code != e.healthyCode(c) {
		t.Fatalf("%q: exit code %d: %s", args, code, said)
	}
	if c.holder != nil {
		c.settle(t, look(t, c.state))
	}
	text, err := os.ReadFile(log)
	check(t, err)
	of := map[string]int{}
	for line := range strings.Lines(string(text)) {
		thread, call, _ := strings.Cut(line, " ")
		if strings.Contains(call, "(") && !strings.Contains(call, "resumed>") {
			of[thread]++
			most = max(most, of[thread])
		}
	}
	return most
}
