package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/probe/probetest"
)

// asRootOfNothing makes a child the root of a user namespace in which only the stranger exists: it
// has user number 0, and may give no file to anybody.
func asRootOfNothing(cmd *exec.Cmd) {
	only := []syscall.SysProcIDMap{{ContainerID: 0, HostID: stranger, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: only, GidMappings: only,
		Credential: &syscall.Credential{NoSetGroups: true},
	}
}

// In a container without real root, data often belong to users who do not exist there. Their owner
// cannot be kept; the lock works all the same.
func TestUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	try := exec.Command("/proc/self/exe", "-test.run=^$")
	asRootOfNothing(try)
	if err := try.Run(); err != nil {
		t.Skip("no user namespaces here: ", err)
	}
	dir := reachableDir(t, 0o777) // of real root, who is nobody in there
	for _, name := range []string{"new", "theirs"} {
		state := filepath.Join(dir, name)
		if name == "theirs" {
			noError(t, os.WriteFile(state, []byte("by root"), 0o666))
			noError(t, os.Chmod(state, 0o666))
		}
		inside := probetest.StartAs(t, asRootOfNothing, "actor", state)
		tenureOf(t, inside.Ask("acquire"))
		expect(t, inside, "write from inside", "ok")
		if text := content(t, state); text != "from inside" {
			t.Errorf("the state is %q", text)
		}
		inside.Kill()
		inside = probetest.StartAs(t, asRootOfNothing, "actor", state)
		if _, token, recovered := tenureOf(t, inside.Ask("acquire")); token != 1 || !recovered {
			t.Errorf("token %d, recovered %v", token, recovered)
		}
		expect(t, inside, "write from inside again", "ok")
		expect(t, inside, "release", "ok")
		noLeftovers(t, state)
	}
}
