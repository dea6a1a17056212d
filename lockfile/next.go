package lockfile

import (
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/probe"
)

// next returns the one next step for a person, with a command that can be run as it stands.
func (p *place) next(in Inspection, s *sighting) string {
	c := nextstep.Case{
		Verdict: in.Verdict, Reason: in.Reason,
		State: in.State, Lock: in.Lock, LockID: in.LockID, Owner: in.Owner.Identity(),
		Off: p.opts.mayRecover(), OffByEnv: recoveryIsOff(),
	}
	sys := p.sys
	if s.asked {
		sys = judged{sys, s}
	}
	return strings.Join(c.Next(sys, shell.Raw), " ")
}

// judged is a system that says of host and owner what it said when the lock was judged.
type judged struct {
	probe.System
	s *sighting
}

// Host: where the owner could not be judged, more is said of the host than was needed for that.
func (j judged) Host() probe.Host {
	if j.s.finding.Verdict == identity.Unknown {
		return j.System.Host()
	}
	return j.s.host
}

func (j judged) Process(pid int) probe.Process {
	if pid == j.s.process.PID {
		return j.s.process
	}
	return j.System.Process(pid)
}
