//go:build amd64 || arm64

package lockfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
)

// The kernel may do less of a write than it was asked to, again and again: everything is whole all
// the same, in records, fence, log and state.
func TestWritesFallShort(t *testing.T) {
	for name, before := range map[string]func(*testing.T, string) int{
		"free":             func(*testing.T, string) int { return 0 },
		"owner dead":       abandoned,
		"owner dead often": abandonedOften,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			used := before(t, state)
			child := startActor(t, state, flushed)
			k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
			shortened := 0
			ask := func(verb string) string {
				child.Send(verb)
				k.run(func(s step) syscall.Errno {
					if s.writes() && s.args[2] > 1 {
						shortened++
						return shortHere
					}
					return 0
				})
				return child.Line()
			}
			_, token, recovered := tenureOf(t, ask("acquire"))
			if recovered != (name != "free") || recovered && token <= used {
				t.Errorf("fence %d after %d, recovered %v", token, used, recovered)
			}
			k.meanwhile(func() {
				if in := inspect(t, state); in.Format != "record-v2" || int(in.Fence.Counter) != token {
					t.Errorf("%v (%s), fence %+v", in.Finding, in.Format, in.Fence)
				}
			})
			text := strings.Repeat("all of it ", 50)
			if said := ask("write " + text); said != "ok" || content(t, state) != text {
				t.Errorf("%s: the state is %q", said, content(t, state))
			}
			if said := ask("release"); said != "ok" {
				t.Error(said)
			}
			if shortened < 10 {
				t.Errorf("only %d writes were cut short", shortened)
			}
			fencesGrow(t, state, token)
			noLeftovers(t, state)
		})
	}
}

// A takeover whose line in the log cannot be flushed does not happen, and the log does not say that
// it did.
func TestLogCannotBeFlushed(t *testing.T) {
	t.Parallel()
	state := newState(t)
	abandonedOften(t, state)
	before := content(t, state+".recovery.log")
	child := startActor(t, state, flushed)
	k := newTap(t, child, filepath.Dir(state), child.Ask("tap"))
	child.Send("try")
	failed := 0
	k.run(func(s step) syscall.Errno {
		if strings.HasPrefix(s.text, "flush state.recovery.log") {
			failed++
			return syscall.EPERM
		}
		return 0
	})
	wantText(t, child.Line(), "failed", "write the recovery log")
	if after := content(t, state+".recovery.log"); failed != 1 || after != before {
		t.Errorf("%d flushes failed; the log was %q and is %q", failed, before, after)
	}
	if in := inspect(t, state); in.Verdict != identity.Gone {
		t.Errorf("%v", in.Finding)
	}
}
