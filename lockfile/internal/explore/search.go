package explore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

// Scenario is a situation from which every schedule is walked.
type Scenario struct {
	Name  string
	Disk  simfs.Options
	Setup func(c *Cast)
	// Crashes is how many processes may be killed.
	Crashes  int
	ReusePID bool // a process that is started again gets the number of the one that died

	// LegacyRecovers says that a record-v2 peer recovers: it may write what it should not.
	LegacyRecovers bool
	OpenersHidden  bool // who has a file open cannot be scanned
	Unlogged       bool // numbers are handed out that are not logged (Options.FreshToken)
	Ready          bool // waiters have their record ready, and publish it without looking
	// NeedsPerson says that the last process may find a lock that nobody can judge.
	NeedsPerson bool

	Options func(p *Proc, opts *lockfile.Options)
	Clock   func(p *Proc, t time.Time) time.Time
}

// Script is what a process does.
type Script struct {
	Name    string
	Run     func(p *Proc)
	Mortal  bool          // may be killed
	Restart func(p *Proc) // what a new process does after that; nil: there is none
	Stays   bool          // lives on when its script is over
	Legacy  bool          // a record-v2 peer
	Stopped bool          // looks stopped to others
}

// Bounds end a search.
type Bounds struct {
	Preemptions int
	Crashes     int // -1: those of the scenario
	Runs        int // 0: no bound
	Time        time.Duration
	// Plain walks every schedule to its end, and kills at every point: to see that what is left out
	// otherwise makes no difference.
	Plain bool
	// Ends collects the states in which schedules end, and a seed for each.
	Ends map[uint64]string
}

// Result is what a search has found out.
type Result struct {
	Scenario    string
	Preemptions int
	Runs        int // schedules that were played, to the end or to a state that was met before
	Whole       int // of them to the end
	States      int // different states at which somebody could be chosen
	Steps       int // operations that were points of choice
	Complete    bool
	Elapsed     time.Duration

	Violation *Violation
	Seed      string // plays the violation again
	Story     string
}

func (r Result) String() string {
	whole := "complete"
	if !r.Complete {
		whole = "not complete"
	}
	return fmt.Sprintf("%-28s %d preemptions: %8d schedules (%d to the end), %8d states, "+
		"%9d steps, %v, %s", r.Scenario, r.Preemptions, r.Runs, r.Whole, r.States, r.Steps,
		r.Elapsed.Round(time.Millisecond), whole)
}

// choice is a point at which the search has several ways.
type choice struct{ at, of int }

// search is a driver that walks all schedules, one after another.
type search struct {
	path  []choice
	depth int // choices of this run
	seen  seen
	blind bool // does not look whether a state was met before
	steps int
}

var _ driver = (*search)(nil)

func (s *search) choose(w *world, current *thread, ways []way) (int, bool) {
	s.steps++
	if s.depth == len(s.path) {
		if !s.blind && !s.seen.enter(w.hash(current), w.left) {
			return 0, false
		}
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
func (s *search) advance() bool {
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

// Explore walks the schedules of a scenario until the first violation or the end of its bounds.
func Explore(sc *Scenario, b Bounds) Result {
	began := time.Now()
	crashes := sc.Crashes
	if b.Crashes >= 0 {
		crashes = b.Crashes
	}
	s := &search{blind: b.Plain}
	r := Result{Scenario: sc.Name, Preemptions: b.Preemptions}
	for {
		w, whole := play(sc, s, b.Preemptions, crashes, nil)
		r.Runs++
		if whole {
			r.Whole++
			if b.Ends != nil {
				b.Ends[w.end] = seed(sc, b.Preemptions, crashes, s.path[:s.depth])
			}
		}
		if w.monitor.broken != nil {
			r.Violation = w.monitor.broken
			r.Seed = seed(sc, b.Preemptions, crashes, s.path[:s.depth])
			if told, err := Replay([]*Scenario{sc}, r.Seed); err == nil {
				r.Story = told.Story
			} else {
				r.Story = err.Error()
			}
			break
		}
		if !s.advance() {
			r.Complete = true
			break
		}
		if b.Runs > 0 && r.Runs >= b.Runs || b.Time > 0 && time.Since(began) > b.Time {
			break
		}
	}
	r.States, r.Steps, r.Elapsed = s.seen.n, s.steps, time.Since(began)
	return r
}

// seed writes a schedule down: the choices that were not the first one.
func seed(sc *Scenario, preemptions, crashes int, path []choice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d/%d", sc.Name, preemptions, crashes)
	for i, c := range path {
		if c.at > 0 {
			fmt.Fprintf(&b, "/%d:%d", i, c.at)
		}
	}
	return b.String()
}

// replay is a driver that follows a seed.
type replay struct {
	at    map[int]int
	depth int
}

func (r *replay) choose(_ *world, _ *thread, ways []way) (int, bool) {
	at := min(r.at[r.depth], len(ways)-1)
	r.depth++
	return at, true
}

// Replay plays the schedule of a seed and tells it.
func Replay(scenarios []*Scenario, seed string) (Result, error) {
	parts := strings.Split(seed, "/")
	if len(parts) < 3 {
		return Result{}, fmt.Errorf("seed %q has no scenario and bounds", seed)
	}
	var sc *Scenario
	for _, one := range scenarios {
		if one.Name == parts[0] {
			sc = one
		}
	}
	preemptions, err1 := strconv.Atoi(parts[1])
	crashes, err2 := strconv.Atoi(parts[2])
	if sc == nil || err1 != nil || err2 != nil {
		return Result{}, fmt.Errorf("seed %q: no such scenario, or no bounds", seed)
	}
	d := &replay{at: map[int]int{}}
	for _, part := range parts[3:] {
		var i, at int
		if n, err := fmt.Sscanf(part, "%d:%d", &i, &at); n != 2 || err != nil {
			return Result{}, fmt.Errorf("seed %q: %q is no choice", seed, part)
		}
		d.at[i] = at
	}
	told := &story{}
	w, _ := play(sc, d, preemptions, crashes, told)
	r := Result{Scenario: sc.Name, Preemptions: preemptions, Runs: 1, Seed: seed,
		Violation: w.monitor.broken, Story: told.String()}
	if v := r.Violation; v != nil {
		r.Story += fmt.Sprintf("\n      %s is broken: %s\n      again: go test "+
			"./lockfile/internal/explore -run TestReplay -explore.seed=%s", v.Invariant, v.What,
			seed)
	}
	return r, nil
}

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
			x := uint64(th.status)
			if th.status == paused {
				x |= bit(w.changes-p.own > th.woken) << 8
			}
			h = simfs.Mix(h, x|bit(th == current)<<9|bit(p.dead)<<10)
		}
	}
	return h
}
