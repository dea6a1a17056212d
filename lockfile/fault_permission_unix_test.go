//go:build unix

package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

const stranger = 4321 // number of a user who owns nothing

// asStranger starts a child without any rights of its own.
func asStranger(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: stranger, Gid: stranger},
		}
	}
}

func startStranger(t *testing.T, state string) *probetest.Child {
	t.Helper()
	return probetest.StartAs(t, asStranger, "actor", state)
}

// reachableDir is a directory that every user can reach, unlike those of t.TempDir.
func reachableDir(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "probate-open-")
	noError(t, err)
	t.Cleanup(func() {
		os.Chmod(dir, 0o700)
		os.RemoveAll(dir)
	})
	dir, err = filepath.EvalSymlinks(dir)
	noError(t, err)
	noError(t, os.Chmod(dir, mode))
	return dir
}

// Whoever may not write the directory gets no lock, is told why, and changes nothing.
func TestNotPermitted(t *testing.T) {
	dir := reachableDir(t, 0o755)
	state := filepath.Join(dir, "state")
	noError(t, os.WriteFile(state, []byte("kept"), 0o644))
	noError(t, os.Chmod(dir, 0o555))
	child := startStranger(t, state)
	refused := func(verb string) {
		t.Helper()
		said := child.Ask(verb)
		wantText(t, said, "failed permission", state, "permission denied", "ls -ld")
		if strings.Contains(said, "held") {
			t.Errorf("%s: nobody holds anything", said)
		}
	}
	refused("acquire")
	refused("try")
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}

	// With a fence that it may read, and a dead owner whose record it may read too.
	noError(t, os.Chmod(dir, 0o755))
	abandon(t, state)
	for _, suffix := range []string{".lock", ".fence"} {
		noError(t, os.Chmod(state+suffix, 0o644))
	}
	noError(t, os.Chmod(dir, 0o555))
	before := content(t, state+".lock")
	refused("acquire")
	refused("recover")
	refused("break " + inspect(t, state).LockID)
	if in := inspect(t, state); in.Verdict != identity.Gone || in.Fence.Counter != 0 ||
		content(t, state+".lock") != before {
		t.Errorf("%v, fence %+v", in.Finding, in.Fence)
	}
	if odd := leftovers(t, state); len(odd) != 1 {
		t.Errorf("left over: %q", odd)
	}
}

// Advice names no file that is not there: here the one that could not be made.
func TestNotPermittedAdvice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to be root to give a file away")
	}
	dir := reachableDir(t, 0o755)
	state := filepath.Join(dir, "state")
	noError(t, os.WriteFile(state, nil, 0o600))
	noError(t, os.Chown(state, stranger, stranger))
	lock := tryAcquire(t, state, lockfile.Options{})
	noError(t, lock.Release())
	said := startStranger(t, state).Ask("try")
	wantText(t, said, "failed permission", "create the record", "ls -ld")
	if _, command, _ := strings.Cut(said, "ls -ld"); strings.Contains(command, "…") {
		t.Error(said)
	}
}
