package explore

import (
	"fmt"
	"testing"
)

// TestNothingIsLost walks small scenarios plainly, with the code itself, every schedule to its end
// and with a death at every point, and compares: leaving out states that were met, deaths that make
// no difference, moments at which nothing could be noticed, and preemptions before steps with which
// nobody else has to do reaches the same ends, and what every process has learnt by then is the
// same. Letting processes forget how they got a lock reaches the same ends too.
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
		{"peer-recovers-owner", 2, 0, true}, {"dies-unseen", 1, 1, false},
	} {
		if c.long && (raceEnabled || testing.Short()) {
			continue
		}
		name := fmt.Sprintf("%s-%d-%d", c.scenario, c.preemptions, c.crashes)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := Find(c.scenario)
			if sc == nil {
				sc = diesUnseen()
			}
			plain, plainLearnt := map[uint64]string{}, map[uint64]string{}
			quick, quickLearnt := map[uint64]string{}, map[uint64]string{}
			b := Bounds{Preemptions: c.preemptions, Crashes: c.crashes}
			b.Plain, b.Ends, b.Learnt = true, plain, plainLearnt
			all := Explore(sc, b)
			b.Plain, b.Ends, b.Learnt = false, nil, quickLearnt
			remembering := Explore(sc, b)
			b.Ends, b.Learnt = quick, nil
			forgetting := Explore(sc, b)
			t.Logf("%d preemptions: %d schedules come to %d ends, and %d with what was learnt; "+
				"walked %d and %d", c.preemptions, all.Runs, len(plain), len(plainLearnt),
				forgetting.Runs, remembering.Runs)
			if !all.Complete || !remembering.Complete || !forgetting.Complete ||
				len(plainLearnt) < 2 {
				t.Fatalf("not complete: %v, %v, %v", all, remembering, forgetting)
			}
			same(t, plain, quick)
			same(t, plainLearnt, quickLearnt)
		})
	}
}

// diesUnseen is a process that makes two files, while another one looks at the first, and whether
// it lives. It may be killed before it makes the second, or after; who comes in its place sees the
// difference.
func diesUnseen() *Scenario {
	const first, second = "s.peer", "s.peer2"
	return &Scenario{Name: "dies-unseen", Setup: func(c *Cast) {
		warm(c)
		p := c.Add(&Script{Name: "A", Mortal: true, Run: func(p *Proc) {
			q := p.peer()
			_, _ = q.create(first, nil)
			_, _ = q.create(second, nil)
			q.text(second) // so that it is still there for a while
		}, Restart: func(p *Proc) { p.peer().text(second) }})
		c.Add(once("B", func(q *Proc) {
			q.peer().text(first)
			system{q}.Process(p.pid)
		}))
	}}
}

// same compares the ends of two searches.
func same(t *testing.T, plain, quick map[uint64]string) {
	t.Helper()
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
}
