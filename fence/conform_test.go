package fence_test

import (
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/fence/fencetest"
)

func TestCounterConforms(t *testing.T) {
	fencetest.Run(t, func(t *testing.T) fence.Store {
		c, err := fence.Open(filepath.Join(t.TempDir(), "S.fence"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}, fencetest.Options{Reopen: func(s fence.Store) (fence.Store, error) {
		return fence.Open(s.(*fence.Counter).Path())
	}})
}

func TestMemoryConforms(t *testing.T) {
	fencetest.Run(t, func(*testing.T) fence.Store { return fence.NewMemory() }, fencetest.Options{})
}
