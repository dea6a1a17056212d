package explore

import (
	"flag"
	"testing"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

var (
	powerMost = flag.Int("explore.disks", 24,
		"look at all disks that a power cut at one moment may leave, when there are not more")
	powerSamples = flag.Int("explore.samples", 16, "else at so many")
	powerAgain   = flag.Int("explore.again", 500,
		"every how manieth recovery is cut off by a second power cut, at each of its steps")
	powerSeed = flag.Uint64("explore.powerseed", 1, "which ones")
)

// TestPowerCuts cuts the power before every file operation.
func TestPowerCuts(t *testing.T) {
	for _, h := range Histories() {
		for name, model := range map[string]simfs.CutModel{
			"journal": {Tears: 3}, "any-order": {Tears: 3, AnyNames: true},
		} {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := PowerBounds{Model: model, Most: *powerMost, Samples: *powerSamples,
					Seed: *powerSeed, Again: *powerAgain}
				if raceEnabled || testing.Short() {
					b.Most, b.Samples, b.Again = 8, 4, 0
				}
				r := PowerCuts(h, b)
				t.Log(r)
				if r.Violation != nil {
					t.Fatalf("%s is broken: %s\n%s", r.Violation.Invariant, r.Violation.What, r.Story)
				}
				if r.Moments == 0 || r.Disks < r.Moments || r.Distinct < 10 {
					t.Error("next to nothing was looked at")
				}
				if h.Hidden != (r.NeedPerson > 0) {
					t.Errorf("%d disks need a person", r.NeedPerson)
				}
			})
		}
	}
}
