package lockfile

import (
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
)

// next returns the one next step for a person, with a command that can be run as it stands. Of the
// owner's process it goes by what was seen when the lock was judged.
func (p *place) next(in *Inspection, s *sighting) string {
	c := nextstep.Case{
		Verdict: in.Verdict, Reason: in.Reason,
		State: in.State, Lock: in.Lock, LockID: in.LockID, Owner: in.Owner.Identity(),
	}
	if in.Verdict == identity.Gone {
		c.Off, c.OffByEnv = p.opts.mayRecover(), recoveryIsOff()
	}
	if s.asked && s.record.Proof != nil {
		c.Saw(&s.process)
	}
	return c.Line(p.sys, shell.Raw)
}
