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
	// Alike says that the processes that enter are alike: whichever begins, it is the same.
	Alike bool
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
	Preemptions int // -1: any number
	Crashes     int // -1: those of the scenario
	Runs        int // 0: no bound
	Time        time.Duration
	// Plain walks every schedule to its end, and kills at every point: to see that what is left out
	// otherwise makes no difference.
	Plain bool
	// Ends collects the states in which schedules end, and a seed for each.
	Ends map[uint64]string
	// Learnt does so too, where other states have differed by all that their processes have learnt.
	// It keeps those from forgetting anything.
	Learnt map[uint64]string
}

// Result is what a search has found out.
type Result struct {
	Scenario    string
	Preemptions int
	Runs        int // schedules that were walked, to the end or to a state that was met before
	Whole       int // of them to the end
	Plays       int // schedules that were played with the real code
	Histories   int // after which threads of real code were seen to go on
	States      int // different states at which somebody could be chosen
	Steps       int // operations that were points of choice
	Spared      int // preemptions that were left out, as those after the next step are the same
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
	preemptions := strconv.Itoa(r.Preemptions)
	if r.Preemptions < 0 {
		preemptions = "any"
	}
	return fmt.Sprintf("%-19s %s preemptions: %8d schedules (%d to the end), %8d states, "+
		"%9d steps, %d preemptions spared, %d plays of code, %d histories, %v, %s", r.Scenario,
		preemptions, r.Runs, r.Whole, r.States, r.Steps, r.Spared, r.Plays, r.Histories,
		r.Elapsed.Round(time.Millisecond), whole)
}

func (b Bounds) crashes(sc *Scenario) int {
	if b.Crashes >= 0 {
		return b.Crashes
	}
	return sc.Crashes
}

// ended notes an end that somebody wants to know.
func (b Bounds) ended(end, learnt uint64, seed func() string) {
	if b.Ends != nil && b.Ends[end] == "" {
		b.Ends[end] = seed()
	}
	if b.Learnt != nil && b.Learnt[learnt] == "" {
		b.Learnt[learnt] = seed()
	}
}

// reached reports whether bounds end a search that has walked so much.
func (b Bounds) reached(r *Result, began time.Time) bool {
	return b.Runs > 0 && r.Runs >= b.Runs || b.Time > 0 && r.Runs%64 == 0 &&
		time.Since(began) > b.Time
}

// Explore walks the schedules of a scenario until the first violation or the end of its bounds.
func Explore(sc *Scenario, b Bounds) Result {
	began := time.Now()
	r := Result{Scenario: sc.Name, Preemptions: b.Preemptions}
	if b.Plain {
		plainly(sc, b, &r, began)
	} else {
		newWalk(sc, b, &r, began).whole()
	}
	r.Elapsed = time.Since(began)
	return r
}

// violated notes what a schedule has broken, and plays it again.
func (r *Result) violated(sc *Scenario, v *Violation, seed string) {
	r.Violation, r.Seed = v, seed
	told, err := Replay([]*Scenario{sc}, r.Seed)
	switch {
	case err != nil:
		r.Story = err.Error()
	case told.Violation == nil || told.Violation.Invariant != v.Invariant:
		r.Story = fmt.Sprintf("%s\n      the code itself does not break it: the walk is wrong (%v)",
			told.Story, told.Violation)
	default:
		r.Story = told.Story
	}
}

// seed writes a schedule down: the choices that were not the first one.
func seed(sc *Scenario, b Bounds, path []choice) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s/%d/%d", sc.Name, b.Preemptions, b.crashes(sc))
	if b.Plain {
		text.WriteString("/plain")
	}
	for i, c := range path {
		if c.at > 0 {
			fmt.Fprintf(&text, "/%d:%d", i, c.at)
		}
	}
	return text.String()
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
	b := Bounds{Preemptions: preemptions, Crashes: crashes}
	for _, part := range parts[3:] {
		if part == "plain" {
			b.Plain = true
			continue
		}
		var i, at int
		if n, err := fmt.Sscanf(part, "%d:%d", &i, &at); n != 2 || err != nil {
			return Result{}, fmt.Errorf("seed %q: %q is no choice", seed, part)
		}
		d.at[i] = at
	}
	told := &story{}
	w, _ := play(sc, d, b, told, nil)
	r := Result{Scenario: sc.Name, Preemptions: preemptions, Runs: 1, Seed: seed,
		Violation: w.monitor.broken, Story: told.String()}
	if v := r.Violation; v != nil {
		r.Story += fmt.Sprintf("\n      %s is broken: %s\n      again: go test "+
			"./lockfile/internal/explore -run TestReplay -explore.seed=%s", v.Invariant, v.What,
			seed)
	}
	return r, nil
}
