package explore

import (
	"path"
	"slices"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// A preemption just before a step of a thread makes no difference when that step has nothing to do
// with anything that others can do until the thread goes on: the step may as well come first, and
// the preemption after it. What others can do is known when all that can follow the step has been
// walked, with as many preemptions left. So a thread goes on first, and others have their turn
// before its step only if one of them could notice it, or change what comes of it.
//
// Every order of steps that is left out is that of one which is walked, with steps exchanged that
// commute, and no more preemptions: a thread that is taken out of the middle of others' steps
// leaves a switch less, never one more. Checks look between steps that commute, too: where they
// compare what two processes did, those count as touching the same.

// Bits of a simfs.Touch for what is not on the disk.
const (
	changes   = simfs.TouchCount << iota // that something has changed, for those who wait
	processes                            // who exists
	checks                               // what the monitor compares
	ownDeath                             // of a process, while others have their turn
)

// reach is what others can touch before a process goes on, for every process of a world.
type reach []simfs.Touch

// reaches keeps what differs of many reaches.
type reaches struct {
	all   []reach
	known map[uint64]uint32
}

// keep returns the place of a reach.
func (k *reaches) keep(r reach) uint32 {
	h := uint64(len(r))
	for _, t := range r {
		h = simfs.Mix(simfs.Mix(h, t.Reads), t.Writes)
	}
	at, known := k.known[h]
	if !known {
		if k.known == nil {
			k.known = map[uint64]uint32{}
		}
		at = uint32(len(k.all))
		k.all, k.known[h] = append(k.all, slices.Clone(r)), at
	}
	return at
}

// add adds what a way touches, and what others can touch after it, to what they can touch before
// it. The process that goes on is not kept from it any more.
func (r reach) add(way way, touched simfs.Touch, after reach) {
	for p := range r {
		switch {
		case way.crash != nil && way.crash.place == p:
			r[p].Add(simfs.Touch{Writes: ownDeath})
		case way.thread != nil && way.thread.proc.place == p:
		default:
			r[p].Add(touched)
			r[p].Add(after[p])
		}
	}
}

// noticed reports whether it makes a difference that other processes have their turn just before a
// step. What the lock of the same process does later has its turn before them, or after the step.
func noticed(step simfs.Touch, others simfs.Touch) bool {
	if step.Writes != 0 { // somebody else may find it done, or not done, by one who has died
		step.Reads |= ownDeath
	}
	return step.Conflicts(others)
}

// single reports whether no more than one thread of a process works, besides what its lock does
// later.
func (p *Proc) single() bool {
	working := 0
	for _, th := range p.threads {
		if th.status != done && !(th.late && th.fresh) {
			working++
		}
	}
	return working <= 1
}

// touch notes what the step that is made touches.
func (w *world) touch(t simfs.Touch) { w.touched.Add(t) }

// touchedBy notes what an operation touched, on the disk and in what is checked.
func (w *world) touchedBy(op *simfs.Op) {
	w.touch(op.Touched)
	if !op.Changed {
		return
	}
	w.touch(simfs.Touch{Writes: changes})
	switch op.Kind {
	case simfs.OpLock, simfs.OpUnlock, simfs.OpClose, simfs.OpOpen:
		return
	case simfs.OpWrite, simfs.OpTruncate, simfs.OpAppend, simfs.OpChmod, simfs.OpChown:
		for _, name := range [...]string{record, state, gate, logs} {
			if w.disk.Inode(name) == op.Inode {
				w.touch(simfs.Touch{Writes: checks})
			}
		}
		return
	}
	for _, name := range [...]string{record, state, gate, logs} {
		if base := path.Base(name); op.Name == base || op.To == base {
			w.touch(simfs.Touch{Writes: checks})
		}
	}
}

// gone is what the end of a process touches.
var gone = simfs.Touch{Writes: processes | checks | changes | simfs.EveryLock | simfs.EveryOpener}
