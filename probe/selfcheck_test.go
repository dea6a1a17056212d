package probe_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func TestSelfCheck(t *testing.T) {
	for range 20 {
		if err := probe.SelfCheck(probe.Real()); err != nil {
			t.Fatal(err)
		}
	}
	if err := probe.SelfCheck(probetest.New()); err != nil {
		t.Fatal(err)
	}
}

// A fact that is unknown is no lie.
func TestSelfCheckUnknown(t *testing.T) {
	s := probetest.New()
	s.SelfProcess = probetest.Absent(
		probetest.SelfPID,
		probe.PresenceUnknown,
		errors.New("no idea"),
	)
	if err := probe.SelfCheck(s); err != nil {
		t.Error(err)
	}
	s.SelfProcess = probetest.Process(probetest.SelfPID, 5000)
	s.Add(probetest.Absent(probetest.SelfPID, probe.PresenceUnknown, errors.New("no idea")))
	if err := probe.SelfCheck(s); err != nil {
		t.Error(err)
	}
}

func TestSelfCheckLies(t *testing.T) {
	const pid = probetest.SelfPID
	honest := probetest.Process(pid, 5000)
	lie := func(change func(*probe.Process)) func(*probetest.System) {
		return func(s *probetest.System) {
			p := honest
			change(&p)
			s.Add(p)
		}
	}
	flip := func(a, b probe.Process) func(*probetest.System) {
		return func(s *probetest.System) {
			s.SelfProcess = probetest.Absent(pid, probe.PresenceUnknown, nil)
			n := 0
			s.OnProcess = func(int) probe.Process {
				if n++; n%2 == 0 {
					return a
				}
				return b
			}
		}
	}
	otherPIDFD := honest
	otherPIDFD.PIDFD = probe.Known[uint64](1, "scripted")
	for want, script := range map[string]func(*probetest.System){
		"found to be missing":     lie(func(p *probe.Process) { p.Presence = probe.Missing }),
		"found to be exited":      lie(func(p *probe.Process) { p.Presence = probe.Exited }),
		"found to be thread-only": lie(func(p *probe.Process) { p.Presence = probe.ThreadOnly }),
		"answered about":          lie(func(p *probe.Process) { p.PID++ }),
		"invalid start": lie(func(p *probe.Process) {
			p.Start = probe.Known(probe.Start("ticks:x"), "scripted")
		}),
		"has the start":        lie(func(p *probe.Process) { p.Start = probe.Known(probe.Ticks(7), "scripted") }),
		"has the pidfd":        lie(func(p *probe.Process) { p.PIDFD = otherPIDFD.PIDFD }),
		"has the start ticks":  flip(honest, probetest.Process(pid, 6000)),
		"has the pidfd inode ": flip(honest, otherPIDFD),
		"in the future": lie(func(p *probe.Process) {
			p.StartedAt = probe.Known(time.Now().Add(time.Hour), "scripted")
		}),
	} {
		s := probetest.New()
		script(s)
		if want == "answered about" {
			s.Remove(pid + 1)
			s.OnProcess = func(int) probe.Process { return probetest.Process(pid+1, 5000) }
		}
		if err := probe.SelfCheck(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// threadsAreProcesses is what a system says that has only kill(2) to ask, or that takes every
// number of Windows' one table for a process.
type threadsAreProcesses struct{ probe.System }

func (s threadsAreProcesses) Process(pid int) probe.Process {
	p := s.System.Process(pid)
	if p.Presence == probe.ThreadOnly || p.Presence == probe.Missing {
		p.Presence = probe.Running
	}
	return p
}

func TestSelfCheckThreads(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("needs a system on which threads have numbers like processes")
	}
	err := probe.SelfCheck(threadsAreProcesses{probe.Real()})
	if err == nil || !strings.Contains(err.Error(), "only a thread") {
		t.Error(err)
	}
}

func TestRealIsHonest(t *testing.T) {
	s := probe.Real()
	self := s.Self()
	if self.PID != os.Getpid() || self.Presence != probe.Running || len(self.Readings) == 0 {
		t.Errorf("%+v", self)
	}
	if p := s.Process(0); p.Presence != probe.PresenceUnknown {
		t.Errorf("%+v", p)
	}
	h := s.Host()
	if !h.Machine.Host.Known || h.OS == "" {
		t.Errorf("%+v", h)
	}
	if !h.Boot.ID.Known && h.Boot.ID.Err == nil {
		t.Errorf("boot id is unknown without a reason: %+v", h.Boot.ID)
	}
}
