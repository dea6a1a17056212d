package explore

import (
	"flag"
	"testing"
)

var (
	preemptions = flag.Int("explore.preemptions", 1,
		"walk all schedules of every scenario with so many preemptions; -1: any number")
	runs = flag.Int("explore.runs", 1000,
		"at most so many schedules of each scenario; 0: all")
	budget   = flag.Duration("explore.budget", 0, "at most so long for each scenario; 0: as it takes")
	trios    = flag.Bool("explore.three", false, "three contenders instead of two")
	seedFlag = flag.String("explore.seed", "", "schedule that TestReplay plays and tells")
)

// TestExplore walks the schedules of every scenario, those without a preemption first, so that what
// is found is found by a short story. Its bounds are counts: what it walks is the same every time.
func TestExplore(t *testing.T) {
	scenarios := Scenarios()
	if *trios {
		scenarios = three()
	}
	for _, sc := range scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			for _, n := range numbers(*preemptions) {
				b := Bounds{Preemptions: n, Crashes: -1, Runs: *runs, Time: *budget}
				if raceEnabled || testing.Short() {
					b.Runs = min(b.Runs, 200)
				}
				r := Explore(sc, b)
				t.Log(r)
				if r.Violation != nil {
					t.Fatalf("%s is broken: %s\n%s", r.Violation.Invariant, r.Violation.What, r.Story)
				}
			}
		})
	}
}

// numbers are the preemptions to walk with, up to most. -1 is any number.
func numbers(most int) (n []int) {
	if most < 0 {
		return []int{0, 1, -1}
	}
	for i := range most + 1 {
		n = append(n, i)
	}
	return n
}

// TestReplay plays the schedule of a seed that a failure has named.
func TestReplay(t *testing.T) {
	if *seedFlag == "" {
		*seedFlag = "dead/1/1/30:1/60:1"
	}
	r, err := Replay(append(Scenarios(), three()...), *seedFlag)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Story)
	if r.Violation != nil {
		t.Fatal(r.Violation)
	}
	again, err := Replay(append(Scenarios(), three()...), *seedFlag)
	if err != nil || again.Story != r.Story {
		t.Fatalf("another story the second time (%v):\n%s", err, again.Story)
	}
}
