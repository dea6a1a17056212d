package explore

import (
	"errors"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

// event is something that a process says of itself, between two operations, and that the monitor
// must know. Events are values without pointers into a world: what a process says is a function of
// what it has learnt, and is said again in every copy of it.
type event interface {
	happen(p *Proc)
}

// tell lets an event happen, and puts it on the tape.
func (p *Proc) tell(e event) {
	if p.dead || p.w.aborting {
		return
	}
	if p.w.live {
		p.w.at.record(step{kind: tells, event: e})
	}
	e.happen(p)
}

// failed says that an invariant is broken.
type failed struct{ invariant, what string }

func (e failed) happen(p *Proc) { p.w.monitor.fail(e.invariant, "%s %s", p.name, e.what) }

// begins says that a call begins whose answer is compared with what happens from now on.
type begins struct{}

func (begins) happen(p *Proc) {
	p.began = p.w.changes
	if p.Tenure != nil {
		p.landed = p.Tenure.landed
	}
}

// calledAlive says that the owner of a lock lives by its kernel lock.
type calledAlive struct{ id string }

func (e calledAlive) happen(p *Proc) { p.w.monitor.calledAlive(p, e.id, p.began) }

// breaks says which lock is being broken from now on, "" that none is.
type breaks struct{ id string }

func (e breaks) happen(p *Proc) { p.breaking = e.id }

// tookOver says that a lock was taken over.
type tookOver struct {
	id     string
	number uint64
	why    string
}

func tookOverFrom(was *lockfile.Recovered) tookOver {
	return tookOver{was.LockID, uint64(was.Fence), was.Finding.Sentence}
}

func (e tookOver) happen(p *Proc) { p.w.monitor.tookOver(p, e) }

// acquired says that a lock was handed out.
type acquired struct {
	id    string
	token uint64
	over  bool   // taken over
	drawn uint64 // random numbers, of those after which all that follow are made
	from  tookOver
}

func (p *Proc) acquiredAs(lock *lockfile.Lock) acquired {
	e := acquired{id: lock.ID(), token: uint64(lock.Token()), drawn: p.drawn}
	if was := lock.Recovered(); was != nil {
		e.over, e.from = true, tookOverFrom(was)
	}
	return e
}

func (e acquired) happen(p *Proc) {
	p.w.monitor.acquired(p, e)
	p.forget(simfs.Mix(simfs.Sum(4, e.id), e.token<<1|bit(e.over)), e.drawn)
}

// forget lets a process that has the lock forget how it came so far. What it does next is a
// function of what it was told, of the descriptors that it has open, and of what its lock does
// later; each play of the code is compared with that.
func (p *Proc) forget(but, drawn uint64) {
	if p.w.remembers || !p.single() {
		return
	}
	h := simfs.Mix(but, drawn)
	for _, th := range p.threads {
		h = simfs.Mix(h, uint64(th.status)<<2|bit(th.fresh)<<1|bit(th.late))
	}
	p.history = simfs.Mix(h, p.files.Descriptors())
}

// outcome is what an operation of a tenure says of itself.
type outcome int

const (
	succeeded outcome = iota
	unsure            // it may or may not have been done
	disturbed         // it was done, and a peer was just writing the counter when that was checked
	lost
	refused // it was not tried: the gate is busy, or a peer is just writing the counter
	strange
)

func (p *Proc) outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, lockfile.ErrUnsure) && p.peersDoing(err):
		return disturbed
	case errors.Is(err, lockfile.ErrUnsure):
		return unsure
	case errors.Is(err, lockfile.ErrLost):
		return lost
	case errors.Is(err, lockfile.ErrGateBusy), p.peersDoing(err):
		return refused
	}
	return strange
}

// text is what is told of an error when its outcome breaks an invariant.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// wrote says what a write came to.
type wrote struct {
	outcome   outcome
	err       string
	inherited bool // the lock is that of another process
	drawn     uint64
}

func (e wrote) happen(p *Proc) {
	t, m := p.Tenure, &p.w.monitor
	if e.inherited && e.outcome == lost && t.landed == p.landed && (t.record.gone || t.over) {
		return // the process above has released
	}
	p.mortal = 0
	if e.outcome == succeeded && !e.inherited {
		p.forget(simfs.Sum(5, t.record.id), e.drawn)
	}
	switch e.outcome {
	case succeeded:
		if t.landed == p.landed {
			m.fail("I8", "%s is told that it has written, and nothing was written", p.name)
		}
		m.acked = m.updates
	case unsure:
		if t.landed == p.landed || !t.record.excused() {
			m.fail("I8", "%s is told that its write is unsure, for no reason: %s", p.name, e.err)
		}
		t.over = true
	case disturbed:
		if t.landed == p.landed {
			m.fail("I8", "%s is told that it has written, and nothing was written", p.name)
		}
	case lost:
		if t.landed != p.landed {
			m.fail("I8", "%s is told that nothing was written, and it was: %s", p.name, e.err)
		}
		p.loses(t, e.err)
	case strange:
		m.fail("I8", "%s cannot write: %s", p.name, e.err)
	}
}

// released says what a release came to.
type released struct {
	outcome outcome
	err     string
}

func (e released) happen(p *Proc) {
	p.mortal = 0
	switch e.outcome {
	case succeeded:
		p.Tenure.over = true
	case lost:
		p.loses(p.Tenure, e.err)
	case unsure, disturbed, strange:
		p.w.monitor.fail("I8", "%s cannot release: %s", p.name, e.err)
	}
}

// loses checks that a tenure that is told that it is lost was really taken away.
func (p *Proc) loses(t *Tenure, err string) {
	t.over = true
	if !t.record.excused() {
		p.w.monitor.fail("I5", "%s lost its lock, and nobody broke it: %s", p.name, err)
	}
}

// peerHolds says that a record-v2 program has the lock, peerOver that it is done with it.
type (
	peerHolds struct{}
	peerOver  struct{}
)

func (peerHolds) happen(p *Proc) {
	m := &p.w.monitor
	for _, r := range m.records {
		if r.proc == p && !r.gone {
			m.holds(&Tenure{proc: p, record: r})
		}
	}
}

func (peerOver) happen(p *Proc) {
	if p.Tenure != nil {
		p.Tenure.over = true
	}
}
