package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// Looking a thousand times leaves no descriptor open, whatever is looked at.
func TestInspectLeaksNothing(t *testing.T) {
	dir := t.TempDir()
	held := filepath.Join(dir, "held")
	lock, err := lockfile.TryAcquire(held, lockfile.Options{})
	must(t, err)
	defer lock.Release()
	dead := filepath.Join(dir, "dead")
	content := deadRecord(t, dead)
	for name, content := range map[string]string{
		"damaged": "{}", "newer": `{"v":3}`, "foreign": "1\n", "large": strings.Repeat("x", 70_000),
		"legacy": string(withoutProof(t, content)),
	} {
		putFile(t, filepath.Join(dir, name+".lock"), []byte(content))
	}
	must(t, os.Symlink("/nowhere", filepath.Join(dir, "link.lock")))
	states := []string{held, dead, filepath.Join(dir, "damaged"), filepath.Join(dir, "newer"),
		filepath.Join(dir, "foreign"), filepath.Join(dir, "large"), filepath.Join(dir, "link"),
		filepath.Join(dir, "free"), filepath.Join(dir, "missing", "state")}
	look := func() {
		for _, state := range states {
			_, _ = lockfile.Inspect(state, lockfile.Options{})
			if state != dead && state != filepath.Join(dir, "free") {
				if l, err := lockfile.TryAcquire(state, lockfile.Options{}); err == nil {
					t.Fatalf("%s was acquired", l.State())
				}
			}
		}
	}
	lockfile.Settle(lock) // a young tenure lets descriptors go at a moment of its own
	look()
	goroutines, before := runtime.NumGoroutine(), openDescriptors(t)
	begin := time.Now()
	const rounds = 70
	for range rounds {
		look()
	}
	took := time.Since(begin)
	for range 10 {
		for range lockfile.List(dir, lockfile.Options{}) {
		}
		_, err := lockfile.Inspect(filepath.Join(dir, "legacy"), lockfile.Options{})
		must(t, err)
	}
	nothingLeft(t, goroutines, before)
	t.Logf("%v for one look", took/time.Duration(rounds*(2*len(states)-2)))
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(fds)
}

// nothingLeft waits until no more goroutines and descriptors are there than are allowed. Those that
// have said that they end may not have ended, and what earlier tests left may end at any time.
func nothingLeft(t *testing.T, goroutines, files int) {
	t.Helper()
	for end := time.Now().Add(probetest.Patience); ; runtime.Gosched() {
		g, f := runtime.NumGoroutine(), openDescriptors(t)
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d descriptors, not %d and %d", g, f, goroutines, files)
		}
	}
}

// No program is run to look: not for another language, another time zone or an empty PATH either.
// The answers are the same to the byte.
func TestInspectIsTheSameEverywhere(t *testing.T) {
	state, living := openState(t), openState(t)
	deadRecord(t, state)
	startHolder(t, living, nil)
	seen := map[string]string{}
	for _, env := range [][]string{
		nil, {"LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8"}, {"LC_ALL=ar_EG.UTF-8"},
		{"LC_ALL=tr_TR.UTF-8", "TZ=Pacific/Kiritimati"}, {"LC_TIME=ja_JP.UTF-8", "TZ=:/etc/none"},
		{"PATH=/nonexistent", "LC_ALL=C", "TZ=America/St_Johns", "HOME=/nonexistent"}} {
		c := startWitness(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, env...) })
		for _, path := range []string{state, living} {
			got := c.Ask("inspect " + path)
			if seen[path] == "" {
				seen[path] = got
			} else if got != seen[path] {
				at := 0
				for at < len(got)-1 && at < len(seen[path])-1 && got[at] == seen[path][at] {
					at++
				}
				at = max(0, at-20)
				t.Errorf("with %q the answer differs:\n%.80s, was\n%.80s", env, got[at:],
					seen[path][at:])
			}
		}
	}
}

// Looking starts no process: seen by strace.
func TestInspectStartsNoProcess(t *testing.T) {
	state, legacy := openState(t), openState(t)
	content := deadRecord(t, state)
	putFile(t, legacy+".lock", withoutProof(t, content))
	trace, traced := straced(t, "execve,execveat,fork,vfork,clone,clone3")
	c := startWitness(t, traced)
	for range 20 {
		for _, path := range []string{state, legacy} {
			c.Ask("inspect " + path)
		}
	}
	c.Ask("list " + filepath.Dir(state))
	c.Close()
	text, err := os.ReadFile(trace)
	must(t, err)
	starts := 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, "execve"):
			starts++
		case strings.Contains(line, "clone"), strings.Contains(line, "fork"):
			if !strings.Contains(line, "CLONE_THREAD") && !strings.Contains(line, "resumed>") {
				t.Errorf("a process was started: %s", line)
			}
		}
	}
	if starts != 1 {
		t.Errorf("%d programs were started, want the one that looks:\n%s", starts, text)
	}
}
