package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script that writes traces and profiles works, and they show what they are for.
func TestTrace(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("there is no strace here")
	}
	if err := exec.Command("strace", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skip("nothing can be traced here")
	}
	out := t.TempDir()
	cmd := exec.Command("bash", "trace.sh", "-n", "3", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, want := range map[string][]string{
		"tenure.trace":     {`"begin tenure 3"`, "linkat(", "unlinkat(", "F_OFD_SETLK"},
		"commit.trace":     {`"end commit"`, "fsync(", "renameat"},
		"inspection.trace": {"F_OFD_GETLK", "pidfd_open("},
		"handoff.trace":    {"linkat(", `"acquired"`, `"release"`},
		"tenure.count":     {"linkat", "total"},
		"commit.count":     {"fsync"},
		"inspection.count": {"pidfd_open"},
		"handoff.count":    {"linkat"},
		"tenure.top":       {"flat"},
		"commit.top":       {"flat"},
		"inspection.top":   {"flat"},
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s does not show %s", name, part)
			}
		}
	}
}
