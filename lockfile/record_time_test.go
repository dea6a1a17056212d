package lockfile_test

import (
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
	"pgregory.net/rapid"
)

// Times of records are written digit by digit, as package time would write them.
func TestTimesAreThoseOfPackageTime(t *testing.T) {
	const layout = "2006-01-02T15:04:05.000Z"
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "seconds"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).
			In(time.FixedZone("somewhere", rapid.IntRange(-50_000, 50_000).Draw(t, "zone")))
		if got, want := lockfile.FormatTime(at), at.UTC().Format(layout); got != want {
			t.Errorf("%v is written as %s, not %s", at, got, want)
		}
	})
}
