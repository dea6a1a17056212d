package explore

import (
	"errors"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

var _ simfs.Hooks = (*Proc)(nil)

// Before is called before every file operation.
func (p *Proc) Before(op *simfs.Op) error {
	w := p.w
	switch {
	case w.still: // it is made again, in its turn
		return nil
	case p.dead || w.aborting:
		return errGone
	}
	if w.beforeOp != nil {
		w.beforeOp()
	}
	if w.live {
		w.at.records(op)
		if !op.Private {
			w.yield(w.at, asksOf(op.Kind))
		}
	}
	return nil
}

// asksOf reports whether an operation is a question that a death can change the answer of.
func asksOf(kind simfs.Kind) bool {
	return kind == simfs.OpLock || kind == simfs.OpLocked || kind == simfs.OpAlone
}

// After is called after every file operation.
func (p *Proc) After(op *simfs.Op) {
	w := p.w
	if op.Err == errGone || p.dead || w.aborting {
		return
	}
	if op.Changed {
		w.changed(p)
	}
	if w.still {
		w.touchedBy(op)
	}
	// That it has come further, if nothing else: what cannot be noticed just now is learnt too.
	learns := w.live && (op.Depends || !op.Private)
	if learns {
		seen := op.Seen
		if op.Err != nil {
			seen = simfs.Sum(seen, op.Err.Error())
		}
		p.learn(w.at, 1, simfs.Sum(seen, string(op.Kind)))
	}
	if w.story != nil {
		w.story.operation(p, op)
	}
	if op.Err == nil {
		w.monitor.after(p, op)
	}
	if learns {
		w.at.goesOn()
	}
}

// system is what a process can ask about others. All run on one machine, in one pid namespace.
type system struct{ p *Proc }

var _ probe.System = system{}

var (
	host  = probetest.New().HostFacts
	disks = probetest.New().FS
)

func (s system) Self() probe.Process { return probetest.Process(s.p.pid, s.p.started) }

func (s system) Process(pid int) probe.Process {
	p := s.p
	if pid == p.pid {
		return s.Self()
	}
	if p.dead || p.w.aborting {
		return probetest.Absent(pid, probe.PresenceUnknown, errGone)
	}
	if p.w.live {
		p.w.at.record(step{kind: asks, pid: pid})
		p.w.yield(p.w.at, true)
	}
	answer := probetest.Absent(pid, probe.Missing, errors.New("no such process"))
	if q := p.find(pid); q != nil {
		answer = probetest.Process(pid, q.started)
		if q.script.Stopped {
			answer.State = probe.Known("stopped", "scripted")
		}
	}
	p.w.note(p, "asks for process %d: %s", pid, answer.Presence)
	return answer
}

// find looks for a process.
func (p *Proc) find(pid int) (found *Proc) {
	learnt := uint64(0)
	for _, q := range p.w.procs {
		if q.pid == pid && !q.dead {
			found, learnt = q, simfs.Mix(q.started, 1+bit(q.script.Stopped))
		}
	}
	if p.w.live {
		p.learn(p.w.at, 2, learnt)
		p.w.at.goesOn()
	}
	return found
}

func (s system) Host() probe.Host { return s.p.w.host }

func (s system) Filesystem(uintptr) probe.Filesystem { return disks }

func (s system) Openers(handle uintptr) probe.Openers {
	var found probe.Openers
	if s.p.dead || s.p.w.aborting || s.p.w.scenario.OpenersHidden {
		return probe.Openers{Incomplete: errGone}
	}
	if s.p.w.live {
		s.p.w.at.record(step{kind: scans, handle: handle})
		s.p.w.yield(s.p.w.at, true)
	}
	s.p.scan(handle, func(q *Proc, locked bool) {
		found.Found = append(found.Found, probe.Opener{PID: q.pid, Name: q.name, Locked: locked})
	})
	return found
}

// scan tells who else has a file open, in the order in which they were started.
func (p *Proc) scan(handle uintptr, tell func(q *Proc, locked bool)) {
	holders := p.files.Holders(handle)
	learnt := uint64(len(holders))
	for _, q := range p.w.procs {
		if locked, has := holders[q.id]; has {
			learnt = simfs.Mix(learnt, uint64(q.pid)<<1|bit(locked))
			tell(q, locked)
		}
	}
	if p.w.live {
		p.learn(p.w.at, 5, learnt)
		p.w.at.goesOn()
	}
}

func (s system) Nested(int) probe.Nested { return probe.Nested{} }
