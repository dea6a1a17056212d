package bench

import (
	"slices"
	"testing"
)

// replacers are others who replace a file, where there are any.
var replacers []side

// BenchmarkCommit replaces a file of 4 KiB so that it survives a power cut: temporary file, flush,
// rename, flush of the directory. Only one side asks whether its lock still stands before it does.
func BenchmarkCommit(b *testing.B) {
	run(b, append(slices.Concat(floor.commit, replacers),
		side{"probate", replace},
	))
}
