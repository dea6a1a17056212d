package lockfile

import (
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/probe"
)

// next returns the one next step for a person, with a command that can be run as it stands.
func (p *place) next(in Inspection) string {
	c := nextstep.Case{
		Verdict: in.Verdict, Reason: in.Reason,
		State: in.State, Lock: in.Lock, LockID: in.LockID, Owner: in.Owner.identity(),
		Off: p.opts.mayRecover(), OffByEnv: recoveryIsOff(),
	}
	return strings.Join(c.Next(p.sys, shell.Raw), " ")
}

// identity is what the record says of its owner that tells whether its number means something here.
func (o *Owner) identity() *identity.Identity {
	if o == nil {
		return nil
	}
	return &identity.Identity{OS: o.OS, PID: o.PID, Boot: o.Boot, PIDNS: o.PIDNamespace,
		Start: probe.Start(o.Start), Host: o.Host}
}
