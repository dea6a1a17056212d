//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBrokenPipeDoesNotEndIt: a message that nobody reads must not kill probate, which may hold a
// lock.
func TestBrokenPipeDoesNotEndIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.lock"), []byte("1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	cmd := exec.Command("probate", "run", "--wait", "50ms", "state", "--", "true")
	cmd.Dir, cmd.Stderr = dir, w
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitUnknown {
		t.Errorf("ended with %v, want exit code %d", err, exitUnknown)
	}
}
