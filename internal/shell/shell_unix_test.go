//go:build unix

package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// TestQuoteSurvivesAShell pastes every word into a real shell.
func TestQuoteSurvivesAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to read $'…'")
	}
	for _, s := range nasty {
		word := System{OS: "linux"}.Quote(s)
		if Escape(word) != word {
			t.Errorf("Quote(%q) = %q is not fit for a terminal", s, word)
		}
		if strings.ContainsRune(s, 0) {
			continue // no argument can hold it
		}
		for _, word := range []string{word, System{OS: "linux", Raw: true}.Quote(s)} {
			out, err := exec.Command(bash, "-c", "printf %s "+word).Output()
			if err != nil || string(out) != s {
				t.Errorf("the shell reads %s as %q, want %q (%v)", word, out, s, err)
			}
		}
	}
}
