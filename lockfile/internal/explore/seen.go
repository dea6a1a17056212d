package explore

import "github.com/probate-dev/probate/internal/vfs/simfs"

// seen is the set of states that were entered, each with the most preemptions that were left.
type seen struct {
	slots []uint64 // hash with the lowest bits replaced by preemptions left + 1; 0 is empty
	n     int
}

const leftBits = 4

// enter reports whether a state is to be entered with so many preemptions left.
func (s *seen) enter(hash uint64, left int) bool {
	if 2*(s.n+1) > len(s.slots) {
		s.grow()
	}
	const mask = 1<<leftBits - 1
	for i := hash >> leftBits % uint64(len(s.slots)); ; i = (i + 1) % uint64(len(s.slots)) {
		switch slot := s.slots[i]; {
		case slot == 0:
			s.slots[i] = hash&^mask | uint64(left+1)
			s.n++
			return true
		case slot&^mask != hash&^mask:
		case int(slot&mask) >= left+1:
			return false
		default:
			s.slots[i] = hash&^mask | uint64(left+1)
			return true
		}
	}
}

func (s *seen) grow() {
	old := s.slots
	s.slots = make([]uint64, max(1<<12, 2*len(old)))
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := slot >> leftBits % uint64(len(s.slots))
		for s.slots[i] != 0 {
			i = (i + 1) % uint64(len(s.slots))
		}
		s.slots[i] = slot
	}
}

// hash is the state at a point of choice.
func (w *world) hash(current *thread) uint64 {
	h := simfs.Mix(w.disk.Hash(), w.monitor.hash())
	h = simfs.Mix(h, uint64(w.idle)<<32|uint64(w.crashes))
	if w.crashes < w.mayCrash { // what decides where deaths are looked at
		p := current.proc
		h = simfs.Mix(h, bit(w.asked)|bit(current.asks)<<1|
			bit(p.mortal == w.changes+1 && w.last == p)<<2)
	}
	for _, p := range w.procs {
		h = simfs.Mix(h, p.history)
		for _, th := range p.threads {
			x := uint64(th.status) | bit(th.fresh)<<11 |
				bit(th.fresh && th.status == ready && w.timely(th))<<12
			if th.status == paused {
				x |= bit(w.changes-p.own > th.woken) << 8
			}
			h = simfs.Mix(h, x|bit(th == current)<<9|bit(p.dead)<<10)
		}
	}
	return h
}
