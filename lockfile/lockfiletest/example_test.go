package lockfiletest_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
)

// importOnce is a program that keeps its state under a lock.
func importOnce(state string) error {
	lock, err := lockfile.TryAcquire(state, lockfile.Options{Label: "import"})
	if err != nil {
		return err
	}
	defer lock.Release()
	return lock.WriteFile(state, []byte("imported"), 0o600)
}

// Example shows a test of a program that must wait its turn, and go on by itself after a crash.
func Example() {
	// func TestMain(m *testing.M) { probetest.Run(m) }
	_ = TestImport
}

func TestImport(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	other := lockfiletest.Held(t, state)
	if err := importOnce(state); !errors.Is(err, lockfile.ErrBusy) {
		t.Errorf("while another one imports: %v", err)
	}
	other.Kill()
	if err := importOnce(state); err != nil {
		t.Errorf("after the other one was killed: %v", err)
	}
}
