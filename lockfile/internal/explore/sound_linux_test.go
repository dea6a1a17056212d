package explore

import "testing"

// TestNothingIsLost walks small scenarios plainly, every schedule to its end and with a death at
// every point, and compares: leaving out states that were met, and deaths that make no difference,
// reaches the same ends.
func TestNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		scenario    string
		preemptions int
		long        bool
	}{
		{"recover-release", 1, false}, {"recover-release", 2, true}, {"held", 0, false},
		{"recover-recover", 0, false}, {"break-commit", 0, false}, {"dead-try", 0, true},
		{"peer-recovers-owner", 0, false}, {"recover-recover", 1, true},
	} {
		if c.long && (raceEnabled || testing.Short()) {
			continue
		}
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			plain, quick := map[uint64]string{}, map[uint64]string{}
			all := Explore(Find(c.scenario), Bounds{Preemptions: c.preemptions, Crashes: -1,
				Plain: true, Ends: plain})
			some := Explore(Find(c.scenario), Bounds{Preemptions: c.preemptions, Crashes: -1,
				Ends: quick})
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
