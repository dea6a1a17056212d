package lockfile

import (
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
)

// next returns the one next step for a person, with a command that can be run as it stands.
func (p *place) next(in Inspection, s sighting) string {
	state := shell.Raw.Operand(in.State)
	breakIt := "probate break --lock-id " + in.LockID + ` --reason "…" ` + state
	ifSure := "if you are sure that nothing uses " + state + ": " + breakIt
	switch in.Verdict {
	case identity.Free:
		return "nothing: the lock is free"
	case identity.Gone:
		if why := recoveryIsOff(); why != "" {
			return why + ": unset it, then probate recover " + state
		} else if why := p.opts.mayRecover(); why != "" {
			return why + "; to take it over by hand: probate recover " + state
		}
		return "nothing by hand: the next acquire takes it over. " +
			"To do it now: probate recover " + state
	case identity.Alive:
		return "wait for it: probate run --wait 60s " + state + " -- CMD"
	}
	switch in.Reason {
	case identity.NotPermitted:
		return "look as the owner of " + shell.Raw.Quote(in.Lock) + " or as " +
			shell.Raw.Superuser() + ": " + shell.Raw.Privileged("probate inspect "+state)
	case identity.RecordNewer:
		return "use the newer version that wrote it, or, " + ifSure
	case identity.RecordNotRegular, identity.RecordForeign, identity.RecordTooLarge,
		identity.RecordUntrusted:
		return "find out who put " + shell.Raw.Quote(in.Lock) + " there (" +
			shell.Raw.List(in.Lock) + "), or, " + ifSure
	case identity.RecordUnreadable:
		return "look at the disk (" + shell.Raw.Disk() + "), and again: probate inspect " + state
	case identity.RecordChanging:
		return "look again: probate inspect " + state
	}
	if in.Owner != nil && in.Owner.Host != "" && in.Owner.Host != known(p.sys.Host().Machine.Host) {
		return "look on " + in.Owner.Host + " (probate inspect there), or, " + ifSure
	}
	if in.Reason == identity.OtherPIDNamespace {
		return "look in the owner's container (probate inspect there), or, " + ifSure
	}
	return "find out whether the owner lives, or, " + ifSure
}
