package probe_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// Probes that lie as only those of Windows can are found out, on every system.
func TestSelfCheckWindowsLies(t *testing.T) {
	const pid = probetest.SelfPID
	honest := probetest.NewWindows().SelfProcess
	if err := probe.SelfCheck(probetest.NewWindows()); err != nil {
		t.Fatal(err)
	}
	lie := func(change func(*probe.Process)) func(*probetest.System) {
		return func(s *probetest.System) {
			p := honest
			change(&p)
			s.Add(p)
		}
	}
	also := func(self func(*probe.Process)) func(*probetest.System) {
		return func(s *probetest.System) { self(&s.SelfProcess) }
	}
	later := probetest.WindowsProcess(pid, probetest.BootTime.Add(51*time.Second))
	next := func(presence probe.Presence) func(*probetest.System) {
		return func(s *probetest.System) {
			p := probetest.WindowsProcess(pid+3, honest.StartedAt.Value)
			p.Presence = presence
			s.Add(p)
		}
	}
	for name, c := range map[string]struct {
		want   string
		script func(*probetest.System)
	}{
		"missing":      {"found to be missing", lie(func(p *probe.Process) { p.Presence = probe.Missing })},
		"exited":       {"found to be exited", lie(func(p *probe.Process) { p.Presence = probe.Exited })},
		"wrong start":  {"has the start", lie(func(p *probe.Process) { p.Start = later.Start })},
		"Linux' start": {"does not have", lie(func(p *probe.Process) { p.Start = probe.Known(probe.Ticks(5), "") })},
		"no time": {"not a time", also(func(p *probe.Process) {
			p.Start = probe.Known(probe.FileTime(1<<63), "")
		})},
		"another time": {"which is not filetime:", also(func(p *probe.Process) {
			p.StartedAt = later.StartedAt
			p.StartedAt.Value = p.StartedAt.Value.Add(time.Minute)
		})},
		"no boot": {"is no boot id", func(s *probetest.System) {
			s.HostFacts.Boot.ID = probe.Known("01234567-89ab-4cde-8f01-23456789abcd", "")
		}},
		"future": {"in the future", func(s *probetest.System) {
			s.SelfProcess = probetest.WindowsProcess(pid, time.Now().Add(time.Hour))
		}},
		"rounded down":   {"not a multiple of 4", next(probe.Running)},
		"rounded, ended": {"not a multiple of 4", next(probe.Exited)},
		"unequal twice": {"has the start", func(s *probetest.System) {
			n := 0
			s.OnProcess = func(asked int) probe.Process {
				switch n++; {
				case asked != pid:
					return probetest.Absent(asked, probe.Missing, nil)
				case n%2 == 0:
					return later
				}
				return honest
			}
		}},
	} {
		s := probetest.NewWindows()
		c.script(s)
		if err := probe.SelfCheck(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
}

// unsteady is a system whose boot id changes with every reading.
type unsteady struct {
	*probetest.System
	n int
}

func (u *unsteady) Host() probe.Host {
	h := u.System.Host()
	u.n++
	h.Boot.ID = probe.Known(string(probe.FileTime(uint64(u.n))), "scripted")
	return h
}

func TestSelfCheckBoot(t *testing.T) {
	for name, s := range map[string]*probetest.System{
		"linux": probetest.New(), "windows": probetest.NewWindows(),
	} {
		err := probe.SelfCheck(&unsteady{System: s})
		if err == nil || !strings.Contains(err.Error(), "its boot is") {
			t.Errorf("%s: %v", name, err)
		}
		s.HostFacts.Boot.ID = probe.Unknown[string]("", errors.New("no idea"))
		if err := probe.SelfCheck(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
