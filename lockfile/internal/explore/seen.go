package explore

import "github.com/probate-dev/probate/internal/vfs/simfs"

// seen is the set of states that were entered, each with the most preemptions that were left.
type seen struct {
	slots []uint64 // hash with the lowest bits replaced by preemptions left + 1; 0 is empty
	reach []uint32 // what can follow, in the place of each
	n     int
}

const leftBits = 4

const leftMask = 1<<leftBits - 1

// enter reports whether a state is to be entered with so many preemptions left, and if not, what
// can follow it, as leave was told.
func (s *seen) enter(hash uint64, left int) (reach uint32, enter bool) {
	if 4*(s.n+1) > 3*len(s.slots) {
		s.grow()
	}
	i := s.find(hash)
	switch slot := s.slots[i]; {
	case slot == 0:
		s.n++
	case int(slot&leftMask) >= left+1:
		return s.reach[i], false
	}
	s.slots[i] = hash&^leftMask | uint64(left+1)
	return 0, true
}

// leave notes what can follow a state that was entered.
func (s *seen) leave(hash uint64, reach uint32) { s.reach[s.find(hash)] = reach }

// find returns the place of a state, or the one where it belongs.
func (s *seen) find(hash uint64) uint64 {
	last := uint64(len(s.slots) - 1) // a power of two
	i := hash >> leftBits & last
	for s.slots[i] != 0 && s.slots[i]&^leftMask != hash&^leftMask {
		i = (i + 1) & last
	}
	return i
}

func (s *seen) grow() {
	old := *s
	size := max(1<<12, 2*len(old.slots))
	s.slots, s.reach = make([]uint64, size), make([]uint32, size)
	for i, slot := range old.slots {
		if slot != 0 {
			to := s.find(slot)
			s.slots[to], s.reach[to] = slot, old.reach[i]
		}
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
