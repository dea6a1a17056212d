package lockfile

import (
	"strings"

	"github.com/probate-dev/probate/identity"
)

// next returns the one next step for a person, with a command that can be run as it stands.
func (p *place) next(in Inspection, s sighting) string {
	state := shellQuote(in.State)
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
		return "look as the owner of " + shellQuote(
			in.Lock,
		) + " or as root: sudo probate inspect " + state
	case identity.RecordNewer:
		return "use the newer version that wrote it, or, " + ifSure
	case identity.RecordNotRegular, identity.RecordForeign, identity.RecordTooLarge,
		identity.RecordUntrusted:
		return "find out who put " + shellQuote(in.Lock) + " there (ls -ld " + shellQuote(in.Lock) +
			"), or, " + ifSure
	case identity.RecordUnreadable:
		return "look at the disk (dmesg), and again: probate inspect " + state
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

// shellQuote makes a word of a path for a POSIX shell.
func shellQuote(s string) string {
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("/._-+:@%,=", c) >= 0) {
			plain = false
		}
	}
	if plain && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
