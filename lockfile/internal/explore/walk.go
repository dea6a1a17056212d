package explore

import (
	"fmt"
	"time"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// walk goes depth first through what can happen, with still worlds and a tape.
type walk struct {
	sc    *Scenario
	b     Bounds
	r     *Result
	began time.Time
	seen  seen
	ends  map[uint64]bool // that passed the last checks
	tape  *tape
	path  []choice
	sums  []uint64 // of the states at the choices
	rooms [][]way

	others  []reach // by choices
	reaches reaches
}

func newWalk(sc *Scenario, b Bounds, r *Result, began time.Time) *walk {
	return &walk{sc: sc, b: b, r: r, began: began, ends: map[uint64]bool{}, tape: newTape()}
}

// whole walks everything.
func (s *walk) whole() {
	w := begin(s.sc, s.b, nil).copy()
	w.live = true
	over, _ := s.from(w, nobody(w))
	s.r.Complete = !over
	s.r.States, s.r.Plays, s.r.Histories = s.seen.n, s.tape.plays, len(s.tape.after)
}

// from walks all that can happen from a point of choice on, in a world that nobody needs
// afterwards. true: that is all for this search. Else others is what everybody else can touch until
// a thread goes on; it stays so until the next call.
func (s *walk) from(w *world, current *thread) (over bool, others reach) {
	if w.monitor.broken != nil {
		return s.violated(w), nil
	}
	depth := len(s.path)
	if depth == len(s.rooms) {
		s.rooms = append(s.rooms, make([]way, 0, 8))
		s.others = append(s.others, make(reach, 0, 8))
	}
	ways := w.ways(current, s.rooms[depth][:0])
	others = append(s.others[depth][:0], make(reach, len(w.procs))...)
	s.rooms[depth], s.others[depth] = ways, others
	if len(ways) == 0 {
		return s.ended(w), others
	}
	s.r.Steps++
	sum, left := w.hash(current), w.left
	if known, enter := s.seen.enter(sum, left); !enter {
		s.r.Runs++
		return s.b.reached(s.r, s.began), s.reaches.all[known]
	}
	s.path, s.sums = append(s.path, choice{0, len(ways)}), append(s.sums, sum)
	single, p := current.proc.single(), current.proc.place
	alike := false // with or without another process here
	for i, way := range ways {
		if depth == 0 && i > 0 && s.sc.Alike && s.b.Ends == nil && s.b.Learnt == nil {
			break
		}
		if alike && way.cost > 0 && way.thread.proc != current.proc {
			s.r.Spared++
			continue
		}
		s.path[depth].at = i
		over, touched, after := s.take(w, current, way, i == len(ways)-1)
		if over {
			return true, nil
		}
		others.add(way, touched, after)
		if i == 0 && way.thread == current && single && !noticed(touched, after[p]) {
			alike = true
			others[p].Add(after[p])
		}
	}
	s.path, s.sums = s.path[:depth], s.sums[:depth]
	s.seen.leave(sum, s.reaches.keep(others))
	return false, others
}

// take walks on in one of the ways, and returns what its first step touches too.
func (s *walk) take(w *world, current *thread, way way, last bool) (over bool, touched simfs.Touch,
	others reach) {
	to := w
	if !last {
		to = w.copy()
		if w.threads[current.place] == current { // else nobody is
			current = to.threads[current.place]
		}
	}
	if way.crash != nil {
		to.crash(to.procs[way.crash.place], current)
		over, others = s.from(to, current)
		return over, gone, others
	}
	if current.proc.dead {
		current.status = done
	}
	to.pay(way.cost)
	next := to.turn(to.threads[way.thread.place])
	to.goOn(next, s.after)
	touched = to.touched
	over, others = s.from(to, next)
	return over, touched, others
}

// after returns what a thread does after a history, and plays the schedule to find out if nobody
// knows.
func (s *walk) after(key uint64) []step {
	if steps := s.tape.find(key); steps != nil {
		return steps
	}
	s.tape.plays++
	w, _ := play(s.sc, &follow{walk: s}, s.b, nil, s.tape)
	steps := s.tape.find(key)
	if steps == nil {
		panic(fmt.Sprintf("%s: the code does not come to where the walk is (%v)",
			seed(s.sc, s.b, s.path), w.monitor.broken))
	}
	return steps
}

// follow is a driver that plays the schedule where a walk is, and then the first way of all.
type follow struct {
	walk  *walk
	depth int
}

func (f *follow) choose(w *world, current *thread, ways []way) (int, bool) {
	s := f.walk
	if f.depth == len(s.path) {
		return 0, true
	}
	c := s.path[f.depth]
	if sum := w.hash(current); sum != s.sums[f.depth] || c.of != len(ways) {
		panic(fmt.Sprintf("%s: at choice %d the code is in another state than the walk",
			seed(s.sc, s.b, s.path), f.depth))
	}
	f.depth++
	return c.at, true
}

// ended is the end of a schedule.
func (s *walk) ended(w *world) (over bool) {
	s.r.Runs++
	s.r.Whole++
	end, learnt := w.endState()
	s.b.ended(end, learnt, func() string { return seed(s.sc, s.b, s.path) })
	if !s.ends[end] {
		s.ends[end] = true
		w.live, w.still = false, false
		w.epilogue()
		if w.monitor.broken != nil {
			return s.violated(w)
		}
	}
	return s.b.reached(s.r, s.began)
}

func (s *walk) violated(w *world) bool {
	s.r.violated(s.sc, w.monitor.broken, seed(s.sc, s.b, s.path))
	return true
}
