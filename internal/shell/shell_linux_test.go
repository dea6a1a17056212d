package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What this system is told to run is there (as far as this machine has it all).
func TestCommandsExist(t *testing.T) {
	for what, command := range commands(Here, "state.lock") {
		if slices.Contains([]string{"superuser", "mode", "format", "files", "privileged", "which",
			"openers"}, what) {
			continue // no command, one of the shell's own, or one that minimal machines lack
		}
		name, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(name); err != nil {
			t.Errorf("%s: %q: %v", what, command, err)
		}
	}
}
