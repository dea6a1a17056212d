package statefile_test

import (
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

func BenchmarkUpdate(b *testing.B) {
	for name, durability := range map[string]lockfile.Durability{
		"durable": lockfile.FlushLater, "atomic": lockfile.FlushNever} {
		b.Run(name, func(b *testing.B) {
			f := statefile.Open[counter](filepath.Join(b.TempDir(), "state.json"),
				statefile.Options{Lock: lockfile.Options{Durability: durability}})
			for b.Loop() {
				if _, err := f.Update(always, increment); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	f := newFile(b)
	noError(b, f.Save(always, counter{}.plus(1)))
	for b.Loop() {
		if _, err := f.Load(); err != nil {
			b.Fatal(err)
		}
	}
}
