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
	if p.dead || p.w.aborting {
		return errGone
	}
	if p.w.beforeOp != nil {
		p.w.beforeOp()
	}
	if p.w.live && !op.Private {
		switch op.Kind {
		case simfs.OpLock, simfs.OpLocked, simfs.OpAlone:
			p.w.yield(p.w.at, true)
		default:
			p.w.yield(p.w.at, false)
		}
	}
	return nil
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
	if w.live && !op.Private {
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
		p.w.yield(p.w.at, true)
	}
	answer := probetest.Absent(pid, probe.Missing, errors.New("no such process"))
	for _, q := range p.w.procs {
		if q.pid == pid && !q.dead {
			answer = probetest.Process(pid, q.started)
			if q.script.Stopped {
				answer.State = probe.Known("stopped", "scripted")
			}
		}
	}
	if p.w.live {
		p.learn(p.w.at, 2, uint64(answer.Presence)<<32|uint64(len(answer.Start.Value)))
	}
	p.w.note(p, "asks for process %d: %s", pid, answer.Presence)
	return answer
}

func (s system) Host() probe.Host { return s.p.w.host }

func (s system) Filesystem(uintptr) probe.Filesystem { return disks }

func (s system) Openers(handle uintptr) probe.Openers {
	var found probe.Openers
	if s.p.dead || s.p.w.aborting || s.p.w.scenario.OpenersHidden {
		return probe.Openers{Incomplete: errGone}
	}
	if s.p.w.live {
		s.p.w.yield(s.p.w.at, true)
	}
	holders := s.p.files.Holders(handle)
	if s.p.w.live {
		s.p.learn(s.p.w.at, 6, uint64(len(holders)))
	}
	for _, q := range s.p.w.procs {
		if locked, has := holders[q.files.ID()]; has {
			found.Found = append(found.Found, probe.Opener{PID: q.pid, Name: q.name,
				Locked: locked})
			if s.p.w.live {
				s.p.learn(s.p.w.at, 5, uint64(q.pid))
			}
		}
	}
	return found
}

func (s system) Nested(int) probe.Nested { return probe.Nested{} }
