package ops_test

import (
	"testing"

	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

func TestFolderConforms(t *testing.T) {
	opstest.Run(t, func(t *testing.T) ops.Store {
		t.Parallel()
		return open(t, t.TempDir(), ops.Options{})
	}, opstest.Options{Reopen: func(s ops.Store) (ops.Store, error) {
		return ops.Open(s.(*ops.Folder).Dir(), opstest.Phases(), ops.Options{})
	}})
}

func TestMemoryConforms(t *testing.T) {
	opstest.Run(t, func(t *testing.T) ops.Store {
		m, err := ops.NewMemory(opstest.Phases(), ops.Options{})
		noError(t, err)
		return m
	}, opstest.Options{Reopen: func(s ops.Store) (ops.Store, error) { return s, nil }})
}
