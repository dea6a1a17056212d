package explore

import (
	"fmt"
	"time"
)

// choice is a point at which a search has several ways.
type choice struct{ at, of int }

// plain is a driver that walks all schedules, one after another, with the real code, each from its
// start to its end: slow, and without a thought that could be wrong.
type plain struct {
	path  []choice
	depth int // choices of this run
	steps int
}

func (s *plain) choose(_ *world, _ *thread, ways []way) (int, bool) {
	s.steps++
	if s.depth == len(s.path) {
		s.path = append(s.path, choice{0, len(ways)})
	}
	c := &s.path[s.depth]
	if c.of != len(ways) {
		panic(fmt.Sprintf("choice %d had %d ways and has %d: the schedule is not deterministic",
			s.depth, c.of, len(ways)))
	}
	s.depth++
	return c.at, true
}

// advance turns to the next schedule. false: there is none.
func (s *plain) advance() bool {
	s.path = s.path[:s.depth]
	for len(s.path) > 0 {
		last := &s.path[len(s.path)-1]
		if last.at++; last.at < last.of {
			s.depth = 0
			return true
		}
		s.path = s.path[:len(s.path)-1]
	}
	return false
}

// plainly is Explore for Bounds.Plain.
func plainly(sc *Scenario, b Bounds, r *Result, began time.Time) {
	s := &plain{}
	for {
		w, whole := play(sc, s, b, nil, nil)
		r.Runs++
		r.Plays++
		r.Steps = s.steps
		if whole {
			r.Whole++
			b.ended(w.endsIn, w.endsAs, func() string { return seed(sc, b, s.path[:s.depth]) })
		}
		if w.monitor.broken != nil {
			r.violated(sc, w.monitor.broken, seed(sc, b, s.path[:s.depth]))
			return
		}
		if !s.advance() {
			r.Complete = true
			return
		}
		if b.reached(r, began) {
			return
		}
	}
}
