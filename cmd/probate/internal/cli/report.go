package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/nextstep"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// view says how describe shows an inspection.
type view struct {
	state string   // as the user typed it
	head  string   // instead of the headline of the verdict
	next  []string // instead of the next step of the verdict
	lock  bool     // also the path of the record
}

// describe tells people everything about a lock, and ends with the one next step.
func (a *app) describe(w io.Writer, in lockfile.Inspection, v view) {
	head := v.head
	if head == "" {
		head = headline(in)
	}
	word, rest, cut := strings.Cut(escape(head), ":")
	if cut {
		rest = ":" + rest
	}
	fmt.Fprintf(w, "%s  %s%s\n", escape(v.state), a.colour(w, in.Verdict, word), rest)
	field := func(name string, lines ...string) {
		for _, line := range lines {
			if line != "" {
				fmt.Fprintf(w, "  %-8s  %s\n", name, escape(line))
				name = ""
			}
		}
	}
	field("owner", in.Owner.Description(), expected(in.Owner))
	if v.lock {
		field("lock", in.Lock)
	}
	if in.Verdict == identity.Free {
		if in.Fence.Counter != 0 || in.Fence.Err != "" {
			field("fence", fenceLine(in))
		}
		field("notes", in.Notes...)
		field("next", v.next...)
		return
	}
	verdict := escape(in.Verdict.String() + ", " + string(in.Reason))
	fmt.Fprintf(w, "  %-8s  %s\n", "verdict", a.colour(w, in.Verdict, verdict))
	if !strings.Contains(head, in.Sentence) {
		field("", in.Sentence)
	}
	field("evidence", evidenceLines(in.Evidence)...)
	field("fence", fenceLine(in))
	field("lock id", in.LockID)
	field("notes", in.Notes...)
	next := v.next
	if next == nil {
		next = nextSteps(in, v.state)
	}
	field("next", next...)
}

func headline(in lockfile.Inspection) string {
	switch in.Verdict {
	case identity.Free:
		return "free: nobody holds it"
	case identity.Alive:
		return "held: " + in.Sentence
	case identity.Gone:
		return "abandoned: its owner is provably gone"
	}
	if in.Owner == nil || strings.HasPrefix(string(in.Reason), "record-") {
		return "unknown: " + in.Sentence
	}
	return "unknown: its owner cannot be judged from here"
}

func expected(o *lockfile.Owner) string {
	if o == nil || o.ExpectedUntil.IsZero() {
		return ""
	}
	return "expected to be done by " + o.ExpectedUntil.Local().Format(time.DateTime) +
		" (says nothing about its life)"
}

func evidenceLines(evidence []identity.Evidence) []string {
	var lines []string
	for _, e := range evidence {
		line := e.Sentence
		if e.Err != "" {
			line += ": " + e.Err
		}
		lines = append(lines, line)
	}
	return lines
}

func fenceLine(in lockfile.Inspection) string {
	var said []string
	if in.Verdict != identity.Free && !in.Fence.Unread {
		said = append(said, fmt.Sprintf("%d in the record", in.Fence.Record))
	}
	if in.Fence.Err != "" {
		said = append(said, "the counter cannot be read: "+in.Fence.Err)
	} else {
		said = append(said, fmt.Sprintf("%d on the counter", in.Fence.Counter))
	}
	return strings.Join(said, ", ")
}

// nextSteps is the one thing to do next, with a command that can be pasted: Inspection.Next, with
// the state as it was typed.
func nextSteps(in lockfile.Inspection, state string) []string {
	c := nextFor(in, state)
	if os.Getenv("PROBATE_RECOVERY") == "off" {
		c.OffByEnv = "recovery is switched off by PROBATE_RECOVERY=off"
	}
	return c.Next(probe.Real(), shell.Here)
}

func nextFor(in lockfile.Inspection, state string) nextstep.Case {
	return nextstep.Case{Verdict: in.Verdict, Reason: in.Reason, State: state, Lock: in.Lock,
		LockID: in.LockID, Owner: in.Owner.Identity()}
}

// brief names an owner in half a line.
func brief(o *lockfile.Owner) string {
	if o == nil || o.PID == 0 {
		return ""
	}
	short := lockfile.Owner{PID: o.PID, Program: o.Program, Label: o.Label}
	return short.Description()
}
