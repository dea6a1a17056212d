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

// What other systems are checked for, on scripted ones that lie in one thing each.
func TestSelfCheckOthers(t *testing.T) {
	for _, os := range []string{"freebsd", "openbsd", "netbsd", "dragonfly"} {
		if err := probe.SelfCheck(probetest.NewBSD(os)); err != nil {
			t.Errorf("%s: %v", os, err)
		}
	}
	if err := probe.SelfCheck(probetest.NewDarwin()); err != nil {
		t.Error(err)
	}
	for _, tt := range othersLies {
		t.Run(tt.os+" "+tt.want, func(t *testing.T) {
			s := scriptedAs(tt.os)
			tt.lie(s)
			if err := probe.SelfCheck(s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want %q, got %v", tt.want, err)
			}
		})
	}
}

func scriptedAs(os string) *probetest.System {
	if os == "darwin" {
		return probetest.NewDarwin()
	}
	return probetest.NewBSD(os)
}

// self makes a lie about the process itself that is the same at every question.
func self(change func(*probe.Process)) func(*probetest.System) {
	return func(s *probetest.System) { change(&s.SelfProcess) }
}

func startIs(start probe.Start) func(*probetest.System) {
	return self(func(p *probe.Process) { p.Start = probe.Known(start, "scripted") })
}

func bootIs(id string) func(*probetest.System) {
	return func(s *probetest.System) { s.HostFacts.Boot.ID = probe.Known(id, "scripted") }
}

func bootedAt(at time.Time) func(*probetest.System) {
	return func(s *probetest.System) {
		s.HostFacts.Boot.StartedAt = probe.Known(at, "scripted")
	}
}

// everybody answers for every number with a process that has that presence.
func everybody(presence probe.Presence) func(*probetest.System) {
	return func(s *probetest.System) {
		me := s.SelfProcess
		s.OnProcess = func(pid int) probe.Process {
			if pid == me.PID {
				return me
			}
			return probetest.Absent(pid, presence, nil)
		}
	}
}

var othersLies = []struct {
	os, want string
	lie      func(*probetest.System)
}{
	{"darwin", "which darwin does not have", startIs("ticks:5000")},
	{"darwin", "which darwin does not have", startIs("uptime:50000000")},
	{"darwin", "is said to have started", startIs("usec:1.000000")},
	{"darwin", "found to be exited", self(func(p *probe.Process) { p.Presence = probe.Exited })},
	{"darwin", "found to be missing", self(func(p *probe.Process) { p.Presence = probe.Missing })},
	{"darwin", "has the serial number", func(s *probetest.System) {
		other := s.SelfProcess
		other.Serial = probe.Known[uint64](1, "scripted")
		s.Add(other)
	}},
	{"darwin", "has the start", func(s *probetest.System) {
		other := probetest.DarwinProcess(probetest.SelfPID, time.Minute)
		other.Serial = s.SelfProcess.Serial
		s.Add(other)
	}},
	{"darwin", "found to be running", everybody(probe.Running)},
	{"darwin", "found to be exited", everybody(probe.Exited)},
	{"darwin", "no boot id of darwin", bootIs(strings.ToLower(probetest.BootSession))},
	{"darwin", "no boot id of darwin", bootIs("00000000-0000-0000-0000-000000000000")},
	{"darwin", "no boot id of darwin", bootIs("1796020767")},
	{"darwin", "started in the future", bootedAt(time.Now().Add(time.Hour))},
	{"darwin", "this process started in the future", self(func(p *probe.Process) {
		p.StartedAt = probe.Known(time.Now().Add(time.Hour), "scripted")
	})},
	{"freebsd", "which freebsd does not have", startIs("usec:1767323095.000000")},
	{"freebsd", "is said to have started", startIs("uptime:7000000000")},
	{"freebsd", "no boot id of freebsd", bootIs(probetest.BootSession)},
	{"freebsd", "found to be running", everybody(probe.Running)},
	{"openbsd", "which openbsd does not have", startIs("usec:1767323095.000000")},
	{"openbsd", "no boot id of openbsd", bootIs(probetest.BootID)},
	{"openbsd", "found to be missing", self(func(p *probe.Process) { p.Presence = probe.Missing })},
	{"netbsd", "which netbsd does not have", startIs("uptime:50000000")},
	{"netbsd", "is said to have started", startIs("usec:1767323999.000000")},
	{"netbsd", "no boot id of netbsd", bootIs(probetest.BootID)},
	{"dragonfly", "which dragonfly does not have", startIs("ticks:50")},
	{"dragonfly", "found to be exited", everybody(probe.Exited)},
}

// A boot id that is another one at every question is a number of something else.
func TestSelfCheckBootChanges(t *testing.T) {
	s := &restless{System: probetest.NewDarwin()}
	if err := probe.SelfCheck(s); err == nil || !strings.Contains(err.Error(), "its boot is") {
		t.Error(err)
	}
}

type restless struct {
	*probetest.System
	asked int
}

func (s *restless) Host() probe.Host {
	h := s.System.Host()
	s.asked++
	h.Boot.ID.Value = h.Boot.ID.Value[:35] + string(rune('0'+s.asked%8))
	return h
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
