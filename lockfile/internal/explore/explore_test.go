package explore

import (
	"flag"
	"testing"
	"time"
)

var (
	preemptions = flag.Int("explore.preemptions", 2, "preemptions")
	crashes     = flag.Int("explore.crashes", -1, "crashes; -1: those of the scenario")
	budget      = flag.Duration("explore.budget", 20*time.Second, "time for each scenario")
	seedFlag    = flag.String("explore.seed", "", "schedule that TestReplay plays")
)

func TestExplore(t *testing.T) {
	for _, sc := range Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			r := Explore(sc, Bounds{Preemptions: *preemptions, Crashes: *crashes, Time: *budget})
			t.Log(r)
			if r.Violation != nil {
				t.Fatalf("%s\n%s", r.Seed, r.Story)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	if *seedFlag == "" {
		return
	}
	r, err := Replay(Scenarios(), *seedFlag)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.Story)
}
