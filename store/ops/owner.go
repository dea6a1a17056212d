package ops

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/probate-dev/probate/identity"
)

// Who works on an operation, and whether anybody does.

// work counts the process that is about to change the operation among those that work on it.
func work(op Operation, me Stamp, judge func(Stamp) identity.Finding) Operation {
	if sameEvidence(op.Owner.Process, me.Process) {
		return op
	}
	op.Others = slices.DeleteFunc(slices.Clone(op.Others), func(s Stamp) bool {
		return sameEvidence(s.Process, me.Process) || judge(s).Verdict == identity.Gone
	})
	op.Others = append(op.Others, me)
	return op
}

// recovery judges the processes of an operation. Any sign of life decides before any sign of death.
func recovery(op Operation, judge func(Stamp) identity.Finding) Recovery {
	found := judge(op.Owner)
	for _, other := range op.Others {
		if found.Verdict == identity.Alive {
			break
		}
		if next := judge(other); next.Verdict != identity.Gone {
			found = next
		}
	}
	return Recovery{op, found}
}

func claim(op Operation, t Takeover, me Stamp, judge func(Stamp) identity.Finding) (
	_ Operation, changed bool, found identity.Finding, err error) {
	if same(op.Owner.Process, me.Process) {
		return op, false, found, nil
	}
	found = recovery(op, judge).Finding
	word := strings.ContainsFunc(t.Reason, isWordy)
	switch {
	case found.Verdict == identity.Gone:
	case found.Verdict == identity.Unknown && word && (t.EvenUnknown || t.EvenAlive):
	case found.Verdict == identity.Alive && word && t.EvenAlive:
	default:
		return op, false, found, fmt.Errorf("%w: %v", ErrHeld, found)
	}
	from := op.Owner
	op = next(op, me)
	op.Owner, op.Others = me, nil
	op.Claims = append(op.Claims, Claimed{From: from, To: me, Verdict: found.Verdict,
		Reason: found.Reason, Word: t.Reason})
	op.Claims = op.Claims[max(0, len(op.Claims)-maxClaims):]
	return op, true, found, nil
}

func isWordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// same reports whether two identities are of one process beyond doubt: what could not be read is
// not equal to itself.
func same(a, b identity.Identity) bool {
	return sameEvidence(a, b) && a.Boot != "" && a.Start != (identity.Identity{}).Start
}

// sameEvidence reports whether a verdict on one is a verdict on the other.
func sameEvidence(a, b identity.Identity) bool {
	evidence := func(id identity.Identity) identity.Identity {
		return identity.Identity{OS: id.OS, PID: id.PID, Boot: id.Boot, Start: id.Start,
			PIDFD: id.PIDFD, PIDNS: id.PIDNS, TimeNS: id.TimeNS}
	}
	return evidence(a) == evidence(b)
}
