// Package nextstep says what a person can do next about a lock: the same for programs that print an
// inspection as JSON and for the command, which writes paths as they were typed.
package nextstep

import (
	"strings"
	"unicode"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/probe"
)

// Case is a lock that was looked at.
type Case struct {
	Verdict identity.Verdict
	Reason  identity.Reason
	State   string // as the person shall type it
	Lock    string // path of the record
	LockID  string // "" where there is nothing to break
	// Owner is what the record says of its owner, with host and start; nil where it says nothing.
	Owner *identity.Identity
	// Asked: the process that the record names was looked at, where its number means something
	// here. Runs: it was there and had not exited. Same: it started when the record says. Stopped:
	// it will not go on before somebody lets it.
	Asked, Runs, Same, Stopped bool
	// Off says why takeovers are switched off, "" where they are not. OffByEnv: by the environment
	// of this process, so that recover does not help either.
	Off      string
	OffByEnv string
}

// Next returns the next step, with commands for that shell. A second line, if there is one, is a
// command that stands for itself.
func (c Case) Next(sys probe.System, sh shell.System) []string {
	state := sh.Operand(c.State)
	switch c.Verdict {
	case identity.Free:
		return []string{"nothing: the lock is free"}
	case identity.Alive:
		if goOn := c.GoOn(sys, sh); goOn != "" {
			return []string{seeWho + c.Who(sys, sh) + ", and let it go on:", goOn}
		}
		return []string{seeWho + c.Who(sys, sh) + orWait, wait + state + waitFor}
	case identity.Gone:
		recover := "probate recover " + state
		switch {
		case c.OffByEnv != "":
			return []string{c.OffByEnv + ". To take it over all the same:",
				sh.Without("PROBATE_RECOVERY", recover)}
		case c.Off != "":
			return []string{c.Off + "; to take it over by hand: " + recover}
		}
		return []string{"nothing by hand: the next acquire takes it over. To do it now: " + recover}
	}
	switch c.Reason {
	case identity.RecordUnreadable:
		return []string{"look at the disk (" + sh.Disk() + "), and again: probate inspect " + state}
	case identity.RecordChanging:
		return []string{"look again: probate inspect " + state}
	case identity.NotPermitted: // who may not read it shall not break it
		return []string{"look as " + sh.Superuser() + " or as its owner: " +
			sh.Privileged("probate inspect "+state)}
	}
	first := c.look(sys, sh)
	if c.LockID == "" {
		return []string{first}
	}
	return []string{first + ", or, if you are sure that nothing uses " + sh.Quote(c.State) + ":",
		"probate break --lock-id " + c.LockID + ` --reason "` + why + `" ` + state}
}

// why stands for the reason that a person is to give. Pasted as it is, it is refused.
const why = "…"

// IsReason reports whether text can be a person's reason: there is a letter or a digit in it, in
// whatever script.
func IsReason(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	})
}

const (
	seeWho, orWait = "see who it is: ", ", or wait for it:"
	wait, waitFor  = "probate run --wait 60s ", " -- CMD"
)

// Line is Next in one line.
func (c *Case) Line(sys probe.System, sh shell.System) string {
	// what is asked most often, in one piece
	if c.Verdict == identity.Alive && c.GoOn(sys, sh) == "" {
		return seeWho + c.Who(sys, sh) + orWait + " " + wait + sh.Operand(c.State) + waitFor
	}
	return strings.Join(c.Next(sys, sh), " ")
}

// look is what comes before breaking a lock that cannot be judged: where to find out more.
func (c Case) look(sys probe.System, sh shell.System) string {
	switch c.Reason {
	case identity.SharedFilesystem, identity.OtherMachine, identity.OtherBoot, identity.OtherOS:
		host := "the machine that wrote it"
		if c.Owner != nil && c.Owner.Host != "" {
			host = c.Owner.Host
		}
		if here := sys.Host().Machine.Host; here.Known && host == here.Value {
			host = "every other machine called " + host + " that can reach it"
		}
		return "look on " + host + " (probate inspect there)"
	case identity.OtherPIDNamespace, identity.NamespaceUnreadable, identity.NamespaceUnrecorded,
		identity.OtherTimeNamespace:
		return "look in the container that it ran in (probate inspect there)"
	case identity.RecordNotRegular, identity.RecordTooLarge, identity.RecordUntrusted:
		return "see what stands there, and who put it there: " + sh.List(c.Lock)
	case identity.RecordNewer:
		return "use the newer version that wrote it"
	case identity.RecordForeign, identity.RecordLeaseV1, identity.RecordDamaged,
		identity.RecordCutShort, identity.RecordEmpty, identity.RecordNUL:
		return "see what it is: " + sh.Content(c.Lock)
	}
	return "look at its owner: " + c.Who(sys, sh)
}

// GoOn is the command that lets a stopped owner go on: nobody need wait for it before. It is ""
// where the owner is not stopped, and where there is none.
func (c *Case) GoOn(sys probe.System, sh shell.System) string {
	if c.ask(sys); !c.Runs || !c.Same || !c.Stopped {
		return ""
	}
	return sh.Continue(c.Owner.PID)
}

// Who is the command that shows who holds a lock, or may hold it: the process with the recorded
// number where that number means something here, and who has the record open otherwise. A judged
// owner must be that very process.
func (c Case) Who(sys probe.System, sh shell.System) string {
	c.ask(sys)
	if c.Runs && (c.Same || c.Verdict == identity.Unknown) {
		return sh.Process(c.Owner.PID)
	}
	return sh.Openers(c.Lock)
}

// ask looks at the process that the record names, unless that was done.
func (c *Case) ask(sys probe.System) {
	if c.Asked || c.ownerPID() <= 0 || !identity.Comparable(*c.Owner, sys.Host()) {
		return
	}
	p := sys.Process(c.Owner.PID)
	c.Saw(&p)
}

// Saw says what was seen of the process that the record names.
func (c *Case) Saw(p *probe.Process) {
	c.Asked = true
	c.Runs = p.Presence == probe.Running
	c.Same = p.Start.Known && p.Start.Value == c.Owner.Start
	c.Stopped = p.State.Known && p.State.Value == "stopped"
}

func (c *Case) ownerPID() int {
	if c.Owner == nil {
		return 0
	}
	return c.Owner.PID
}
