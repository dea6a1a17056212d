package probe_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Two filesystems of one type are two, in whatever order they are asked about.
func TestFilesystemsOfOneType(t *testing.T) {
	needsRoot(t)
	a, b := t.TempDir(), t.TempDir()
	v := startView(t, in(unix.CLONE_NEWNS), "private", "mount tmpfs "+a, "mount tmpfs "+b)
	ask := func(dir string) (says string) {
		var words []string
		v.Send("filesystem " + dir)
		v.JSON(&words)
		return strings.Join(words, " ")
	}
	first, second, again := ask(a), ask(b), ask(a)
	if first == second || first != again || !strings.HasPrefix(first, "tmpfs ") ||
		!strings.HasSuffix(second, " true") {
		t.Errorf("%q, %q and %q again", first, second, again)
	}
}
