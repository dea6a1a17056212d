package explore

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// A process is a function of what it has learnt, so what its code does next is asked of the code
// once for each history, and remembered. Schedules are then walked without running it: the file
// operations are made again, on copies of the world as it was at the last choice, instead of from
// the start. Only where a thread has a history that none had before, the schedule that leads there
// is played with the real code, to its end, and what the processes do on the way is taped. Each
// such play is compared with the walk at every choice.

// step is one thing that a thread does.
type step struct {
	kind   stepKind
	op     *simfs.Op // makes, acts
	event  event     // tells
	pid    int       // asks
	handle uintptr   // scans
	thread int       // stops
	late   bool      // spawns
}

type stepKind int

const (
	// done in one go, as nobody else can notice it or be noticed:
	makes  stepKind = iota // a file operation that is private, whatever others do
	tells                  // an event
	spawns                 // a thread
	stops                  // one that has not begun
	// before these others may have their turn:
	acts   // a file operation; unless nobody can notice it just now
	asks   // for a process
	scans  // who has a file open
	waits  // for something to happen
	sleeps // for ever
	ends   // its code returns
)

// taping is a tape while it is being recorded, or compared with what is known.
type taping struct {
	on    bool
	key   uint64
	known []step
	steps []step
	count int
}

// tape is what threads do after each history.
type tape struct {
	after map[uint64]uint32 // places in parts
	parts [][]step
	same  map[uint64]uint32 // by their sums: most differ in nothing but what was learnt before
	plays int
}

func newTape() *tape {
	return &tape{after: map[uint64]uint32{}, same: map[uint64]uint32{}}
}

// find returns what a thread does after a history, nil when nobody knows.
func (t *tape) find(key uint64) []step {
	if at, known := t.after[key]; known {
		return t.parts[at]
	}
	return nil
}

// key is what decides how a thread goes on.
func (th *thread) key() uint64 {
	p := th.proc
	h := simfs.Mix(simfs.Sum(p.history, p.name), p.id<<32|uint64(p.pid))
	return simfs.Mix(h, uint64(th.number))
}

// goesOn says that a thread has learnt something, and what it does now is taped.
func (th *thread) goesOn() {
	t := th.proc.w.tape
	if t == nil || th.proc.w.still {
		return
	}
	key := th.key()
	th.taping = taping{on: true, key: key, known: t.find(key), steps: th.taping.steps[:0]}
}

// record tapes a step, or compares it with the one that is known.
func (th *thread) record(s step) {
	r := &th.taping
	switch {
	case !r.on:
		return
	case r.known == nil:
		if s.op != nil {
			op := *s.op
			op.Data = bytes.Clone(op.Data)
			s.op = &op
		}
		r.steps = append(r.steps, s)
	case r.count == len(r.known) || !s.equal(&r.known[r.count]):
		panic(fmt.Sprintf("two things follow one history: %+v after %d of %+v", s, r.count,
			r.known))
	default:
		r.count++
	}
	if s.kind >= acts {
		r.on = false
		if r.known == nil {
			th.proc.w.tape.keep(r)
		}
	}
}

// records tapes an operation before it is made.
func (th *thread) records(op *simfs.Op) {
	if op.Private && !op.Depends {
		th.record(step{kind: makes, op: op})
	} else {
		th.record(step{kind: acts, op: op})
	}
}

// keep remembers what was taped.
func (t *tape) keep(r *taping) {
	sum := uint64(len(r.steps))
	for i := range r.steps {
		sum = simfs.Mix(sum, r.steps[i].sum())
	}
	at, known := t.same[sum]
	if !known {
		at = uint32(len(t.parts))
		t.parts, t.same[sum] = append(t.parts, slices.Clone(r.steps)), at
	}
	t.after[r.key] = at
}

func (s *step) equal(o *step) bool {
	if s.op == nil || o.op == nil {
		return *s == *o
	}
	a, b := s.op, o.op
	return s.kind == o.kind && a.Kind == b.Kind && a.Name == b.Name && a.To == b.To &&
		a.Args == b.Args && a.Depends == b.Depends && bytes.Equal(a.Data, b.Data)
}

func (s *step) sum() uint64 {
	h := simfs.Mix(uint64(s.kind)<<32|uint64(s.thread)<<1|bit(s.late), uint64(s.pid))
	h = simfs.Mix(h, uint64(s.handle))
	if s.event != nil {
		h = simfs.Sum(h, fmt.Sprintf("%T %+v", s.event, s.event))
	}
	if op := s.op; op != nil {
		a := op.Args
		h = simfs.Sum(simfs.Sum(simfs.Sum(h, string(op.Kind)), op.Name), op.To)
		h = simfs.Sum(simfs.Sum(simfs.Sum(h, string(op.Data)), a.Dir), string(a.Lock))
		h = simfs.Mix(simfs.Mix(h, a.Handle), uint64(a.Access)<<2|bit(a.Closed)<<1|bit(op.Depends))
		h = simfs.Mix(simfs.Mix(h, uint64(a.Off)), uint64(a.Size))
		h = simfs.Mix(simfs.Mix(h, uint64(a.Mode)), uint64(a.UID)<<32^uint64(a.GID))
	}
	return h
}
