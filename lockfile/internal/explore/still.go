package explore

import "github.com/probate-dev/probate/internal/vfs/simfs"

// copy returns a still world like this one.
func (w *world) copy() *world {
	c := new(world)
	*c = *w
	c.still, c.room, c.tape = true, nil, nil
	procs := make([]Proc, len(w.procs))
	threads := make([]thread, len(w.threads))
	c.procs = make([]*Proc, len(w.procs), len(w.procs)+1)
	c.threads = make([]*thread, len(w.threads), len(w.threads)+2)
	for i, th := range w.threads {
		threads[i] = *th
		threads[i].proc = &procs[th.proc.place]
		threads[i].fn, threads[i].resume, threads[i].taping = nil, nil, taping{}
		c.threads[i] = &threads[i]
	}
	for i, p := range w.procs {
		q := &procs[i]
		*q = Proc{w: c, id: p.id, place: p.place, name: p.name, script: p.script, pid: p.pid,
			started: p.started, dead: p.dead, history: p.history, own: p.own, died: p.died,
			mortal: p.mortal, drawn: p.drawn, reads: p.reads, breaking: p.breaking,
			began: p.began, landed: p.landed, looked: p.looked, Tenure: p.Tenure}
		q.threads = make([]*thread, len(p.threads), len(p.threads)+2)
		for j, th := range p.threads {
			q.threads[j] = c.threads[th.place]
		}
		c.procs[i] = q
	}
	if w.last != nil {
		c.last = c.procs[w.last.place]
	}
	c.at = nil
	c.disk = w.disk.Copy(func(id uint64) simfs.Hooks { return c.procs[id-c.procs[0].id] })
	for _, q := range c.procs {
		q.files = c.disk.Find(q.id)
	}
	c.monitor = w.monitor.copy(c)
	return c
}

// copy returns what is known, in the world c.
func (m *Monitor) copy(c *world) Monitor {
	to := *m
	to.w = c
	records := make([]published, len(m.records))
	to.records = make([]*published, len(m.records), len(m.records)+1)
	for i, r := range m.records {
		records[i] = *r
		records[i].proc = c.procs[r.proc.place]
		if r.by != nil {
			records[i].by = c.procs[r.by.place]
		}
		to.records[i] = &records[i]
	}
	tenures := make([]Tenure, len(m.tenures))
	to.tenures = make([]*Tenure, len(m.tenures), len(m.tenures)+1)
	for i, t := range m.tenures {
		tenures[i] = *t
		tenures[i].lock = nil
		tenures[i].proc = c.procs[t.proc.place]
		if t.child != nil {
			tenures[i].child = c.procs[t.child.place]
		}
		tenures[i].record = to.records[t.record.number]
		to.tenures[i] = &tenures[i]
	}
	for _, p := range c.procs {
		if p.Tenure != nil {
			p.Tenure = to.tenures[p.Tenure.number]
		}
	}
	if m.writer != nil {
		to.writer = to.tenures[m.writer.number]
	}
	return to
}

// goOn makes the next step of a thread, and all that it does then up to the next point at which
// something else may happen. after tells what that is.
func (w *world) goOn(th *thread, after func(key uint64) []step) {
	w.at = th
	w.touched = simfs.Touch{}
	if th.fresh {
		th.begins()
	} else {
		w.asked = th.asks
		w.last = th.proc
		th.make(th.next)
	}
	for !th.does(after(th.key())) {
	}
}

// make makes a step before which others had their turn.
func (th *thread) make(s *step) {
	p := th.proc
	switch s.kind {
	case acts:
		p.files.Again(s.op, false)
	case asks:
		p.w.touch(simfs.Touch{Reads: processes})
		p.find(s.pid)
	case scans:
		p.w.touch(simfs.Touch{Reads: processes | simfs.EveryLock | simfs.EveryOpener})
		p.scan(s.handle, func(*Proc, bool) {})
	case waits:
		p.w.touch(simfs.Touch{Reads: changes})
		p.learn(th, 4, 0)
	}
}

// does makes steps in one go. true: now others may have their turn. false: it has learnt, or done,
// something that decides how it goes on.
func (th *thread) does(steps []step) bool {
	p := th.proc
	for i := range steps {
		s := &steps[i]
		switch s.kind {
		case makes:
			p.files.Again(s.op, true)
		case tells:
			p.w.touch(simfs.Touch{Writes: checks})
			s.event.happen(p)
		case spawns:
			p.start(nil).late = s.late
		case stops:
			p.threads[s.thread].status = done
		case acts:
			if s.op.Depends && p.files.Unnoticed(s.op) {
				p.files.Again(s.op, true)
				return false
			}
			if th.late {
				panic("what a lock does later can be noticed: " + string(s.op.Kind))
			}
			th.next, th.asks = s, asksOf(s.op.Kind)
		case asks, scans:
			th.next, th.asks = s, true
		case waits:
			p.w.touch(simfs.Touch{Reads: changes})
			if p.w.idle > patience {
				p.learn(th, 3, 0)
				return false
			}
			th.next, th.asks, th.status = s, false, paused
		case sleeps:
			th.next, th.asks, th.status = s, false, sleeping
		case ends:
			th.status = done
			if p.ended(); p.dead {
				p.w.touch(gone)
			}
		}
	}
	return true
}
