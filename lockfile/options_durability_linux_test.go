//go:build amd64 || arm64

package lockfile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// Durability decides what is flushed before the lock is had, and before a write is acknowledged.
func TestDurability(t *testing.T) {
	for name, c := range map[string]struct {
		durability      lockfile.Durability
		acquire, takeup []string // flushed before the lock is had
		write           []string // flushed before "ok"
	}{
		"later": {lockfile.FlushLater, nil, []string{"log", "fence", "directory"},
			[]string{"state", "directory"}},
		"first": {lockfile.FlushFirst, []string{"record", "directory"},
			[]string{"record", "log", "fence", "directory"}, []string{"state", "directory"}},
		"never": {lockfile.FlushNever, nil, []string{"log", "fence", "directory"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			first := startActor(t, state) // makes the fence
			tenureOf(t, first.Ask("acquire"))
			expect(t, first, "write old", "ok")
			expect(t, first, "release", "ok")

			child := startActor(t, state, knobs{Durability: c.durability})
			k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
			got := flushes(k, child, "acquire")
			if c.durability == lockfile.FlushLater {
				got = flushedLater(k, got)
			}
			if !slices.Equal(got, c.acquire) {
				t.Errorf("acquire: flushed %q, want %q", got, c.acquire)
			}
			if got := flushes(k, child, "write new"); !slices.Equal(got, c.write) {
				t.Errorf("write: flushed %q, want %q", got, c.write)
			}
			child.Kill()
			child = startActor(t, state, knobs{Durability: c.durability})
			k = newTap(t, child, filepath.Dir(state), child.Ask("tap"))
			got = flushes(k, child, "try")
			if c.durability == lockfile.FlushLater {
				got = flushedLater(k, got)
			}
			for _, what := range []string{"record", "log", "fence", "directory"} {
				if slices.Contains(got, what) != slices.Contains(c.takeup, what) {
					t.Errorf("takeover: flushed %q, want %q", got, c.takeup)
				}
			}
			if c.durability == lockfile.FlushFirst && got[len(got)-1] != "directory" {
				t.Errorf("takeover: the directory is not flushed last: %q", got)
			}
			if slices.Index(got, "log") > slices.Index(got, "fence") {
				t.Errorf("takeover: the fence is flushed before the log: %q", got)
			}
		})
	}
}

// flushedLater demands that the record is flushed in the background, a few milliseconds after the
// lock is had: on a slow machine that is before the child can say so. got is what was flushed until
// then; it returns the rest of that.
func flushedLater(k *tap, got []string) []string {
	k.t.Helper()
	if n := len(got); n > 0 && got[n-1] == "record" {
		return got[:n-1]
	}
	if s, ok := k.next(); !ok || s.verb() != "flush" || s.text == "flush " {
		k.t.Errorf("the record is not flushed later, but %q done", s.text)
	} else {
		k.allow(s)
	}
	return got
}

// flushes lets a child do something, and returns what it flushes on the way.
func flushes(k *tap, child *probetest.Child, verb string) (what []string) {
	k.t.Helper()
	wrote := ""
	child.Send(verb)
	k.run(func(s step) syscall.Errno {
		_, file, _ := strings.Cut(s.text, " ")
		switch {
		case s.verb() == "write":
			wrote = file
		case s.verb() != "flush":
		case file == "":
			what = append(what, "directory")
		case file == "state.fence":
			what = append(what, "fence")
		case file == "state.recovery.log":
			what = append(what, "log")
		case file == wrote && strings.HasPrefix(verb, "write"):
			what = append(what, "state")
		default:
			what = append(what, "record")
		}
		return 0
	})
	if said := child.Line(); said != "ok" && !strings.HasPrefix(said, "held ") {
		k.t.Fatalf("%s: %s", verb, said)
	}
	return what
}
