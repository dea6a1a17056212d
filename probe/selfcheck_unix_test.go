//go:build unix

package probe_test

import (
	"os"
	"strings"
	"testing"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// parentHidden is a system that hides the processes of others, as jails and sandboxes do.
type parentHidden struct {
	probe.System
	presence probe.Presence
}

func (s parentHidden) Process(pid int) probe.Process {
	if pid == os.Getppid() {
		return probetest.Absent(pid, s.presence, nil)
	}
	return s.System.Process(pid)
}

func TestSelfCheckParent(t *testing.T) {
	if os.Getppid() <= 0 {
		t.Skip("the parent of this process is outside of its pid namespace")
	}
	for _, p := range []probe.Presence{probe.Missing, probe.Exited, probe.ThreadOnly} {
		err := probe.SelfCheck(parentHidden{probe.Real(), p})
		if err == nil || !strings.Contains(err.Error(), "parent of this process") {
			t.Errorf("%v: %v", p, err)
		}
	}
	if err := probe.SelfCheck(parentHidden{probe.Real(), probe.PresenceUnknown}); err != nil {
		t.Errorf("a parent that cannot be looked at is no lie: %v", err)
	}
}
