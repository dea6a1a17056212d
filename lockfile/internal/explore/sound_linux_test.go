package explore

import (
	"fmt"
	"testing"
)

// TestNothingIsLost walks small scenarios plainly, with the code itself, every schedule to its end
// and with a death at every point, and compares: leaving out states that were met, deaths that make
// no difference and moments at which nothing could be noticed reaches the same ends, and what every
// process has learnt by then is the same.
func TestNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		scenario    string
		preemptions int
		crashes     int
		long        bool
	}{
		{"recover-release", 1, 1, false}, {"held", 0, 1, false}, {"recover-recover", 0, 1, false},
		{"break-commit", 0, 1, false}, {"dead-try", 0, 1, true}, {"peer-recovers-owner", 0, 1, false},
		{"stopped", 0, 1, false}, {"watched", 0, 0, false}, {"inherited", 0, 1, false},
		{"recover-release", 2, 1, true}, {"recover-recover", 1, 1, true},
		{"recover-recover", 2, 0, true}, {"held", 1, 0, true}, {"dead-try", 1, 0, true},
		{"inherited", 1, 0, true}, {"between-breaks", 1, 0, true},
		{"peer-recovers-owner", 2, 0, true},
	} {
		if c.long && (raceEnabled || testing.Short()) {
			continue
		}
		name := fmt.Sprintf("%s-%d-%d", c.scenario, c.preemptions, c.crashes)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, quick := map[uint64]string{}, map[uint64]string{}
			all := Explore(Find(c.scenario), Bounds{Preemptions: c.preemptions,
				Crashes: c.crashes, Plain: true, Ends: plain})
			some := Explore(Find(c.scenario), Bounds{Preemptions: c.preemptions,
				Crashes: c.crashes, Ends: quick})
			t.Logf("%d preemptions: %d ends of %d schedules, %d of %d", c.preemptions, len(plain),
				all.Runs, len(quick), some.Runs)
			if !all.Complete || !some.Complete || len(plain) < 2 {
				t.Fatalf("not complete: %v, %v", all, some)
			}
			for end, seed := range plain {
				if quick[end] == "" {
					t.Error("an end is only reached plainly:", seed)
				}
			}
			for end, seed := range quick {
				if plain[end] == "" {
					t.Error("an end is only reached with pruning:", seed)
				}
			}
		})
	}
}
