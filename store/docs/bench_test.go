package docs_test

import (
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/docs"
)

func BenchmarkCompareAndSwap(b *testing.B) {
	stores := map[string]docs.Store{"memory": docs.NewMemory()}
	for name, durability := range map[string]lockfile.Durability{
		"durable": lockfile.FlushLater, "atomic": lockfile.FlushNever} {
		f, err := docs.OpenFolder(b.TempDir(), docs.FolderOptions{
			Lock: lockfile.Options{Durability: durability}})
		noError(b, err)
		stores["folder "+name] = f
	}
	for name, s := range stores {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := docs.Update(always, s, "n", add); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
