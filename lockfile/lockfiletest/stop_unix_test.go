//go:build unix && !aix

package lockfiletest_test

import (
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
)

func TestStopped(t *testing.T) {
	state := newState(t)
	other := lockfiletest.Held(t, state)
	other.Stop()
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err != nil || in.Verdict == identity.Gone || in.Verdict == identity.Free {
		t.Errorf("%v, %v", in.Finding, err)
	}
	other.Cont()
	if err := other.Release(); err != nil {
		t.Error(err)
	}
}
