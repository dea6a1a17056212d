package probe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// openTemp creates a file and opens it.
func openTemp(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func openerOf(o probe.Openers, pid int) (probe.Opener, bool) {
	i := slices.IndexFunc(o.Found, func(o probe.Opener) bool { return o.PID == pid })
	if i < 0 {
		return probe.Opener{}, false
	}
	return o.Found[i], true
}

// wantComplete checks that an answer is complete, or not so for a reason that is not this
// package's. There are machines on which even root may not look at every process.
func wantComplete(t *testing.T, o probe.Openers) {
	t.Helper()
	if o.Incomplete == nil {
		return
	}
	text := o.Incomplete.Error()
	if os.Getuid() == 0 && !strings.HasPrefix(text, "/proc/1/task/1/fd: permission denied") &&
		text != "new processes kept appearing" {
		t.Errorf("incomplete: %v", o.Incomplete)
	}
	t.Logf("incomplete: %v", o.Incomplete)
}

func TestOpeners(t *testing.T) {
	for how, want := range map[string]struct{ found, locked bool }{
		"read": {true, false}, "flock": {true, true}, "ofd": {true, true}, "path": {false, false},
		"thread": {true, false}, "dead-leader": {true, false},
	} {
		t.Run(how, func(t *testing.T) {
			f := openTemp(t)
			if o := probe.Real().Openers(f.Fd()); len(o.Found) != 0 {
				t.Errorf("before: %+v", o)
			}
			child := probetest.Start(t, "opener", how, f.Name())
			if how == "dead-leader" {
				child.Expect("dead")
			} else {
				child.Expect("open")
			}
			o := probe.Real().Openers(f.Fd())
			wantComplete(t, o)
			got, found := openerOf(o, child.PID())
			if found != want.found || got.Locked != want.locked || len(o.Found) > 1 {
				t.Errorf("%+v", o)
			}
			if found && got.Name == "" {
				t.Errorf("no name: %+v", got)
			}
			child.KillNoReap()
			if o := probe.Real().Openers(f.Fd()); len(o.Found) != 0 {
				t.Errorf("after the end: %+v", o)
			}
		})
	}
}

func TestOpenersOwn(t *testing.T) {
	f := openTemp(t)
	again, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	// Other descriptors of this process count, the one that asks does not.
	if _, found := openerOf(probe.Real().Openers(f.Fd()), os.Getpid()); !found {
		t.Error("the second descriptor was not found")
	}
	again.Close()
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if o := probe.Real().Openers(f.Fd()); len(o.Found) != 0 {
		t.Errorf("%+v", o)
	}
	if o := probe.Real().Openers(^uintptr(0)); o.Incomplete == nil {
		t.Error("an invalid handle has a complete answer")
	}
}

func TestOpenersIncomplete(t *testing.T) {
	needsRoot(t)
	f := openTemp(t)
	f.Chmod(0o644)
	os.Chmod(filepath.Dir(f.Name()), 0o755)
	os.Chmod(filepath.Dir(filepath.Dir(f.Name())), 0o755)
	v := startView(t, asNobody)
	o := v.found("openers " + f.Name())
	if !strings.Contains(o.Incomplete, "permission denied") || len(o.PIDs) != 0 {
		t.Errorf("as nobody: %+v", o)
	}
}

// A file that is open in a container through an overlay is found through the upper layer, and the
// other way round.
func TestOpenersOverlay(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "upper", "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	child := probetest.StartAs(t, in(unix.CLONE_NEWNS), "opener", "overlay", path)
	child.Expect("open")
	if _, found := openerOf(probe.Real().Openers(f.Fd()), child.PID()); !found {
		t.Error("not found through the upper layer")
	}
	root := "/proc/" + strconv.Itoa(child.PID()) + "/root"
	inner, err := os.Open(root + filepath.Join(dir, "merged", "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	o := probe.Real().Openers(inner.Fd())
	if _, found := openerOf(o, child.PID()); !found {
		t.Errorf("not found through the overlay: %+v", o)
	}
	if _, found := openerOf(o, os.Getpid()); !found {
		t.Errorf("the descriptor on the upper layer was not found: %+v", o)
	}
}

// A descriptor that runs from process to process, each of which lives for a moment only, is found
// every time: at least one of them has it at any moment.
func TestOpenersRelay(t *testing.T) {
	f := openTemp(t)
	baton, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROBETEST_CHILD=relay")
	cmd.Stdin, cmd.Stderr = stop, os.Stderr
	cmd.ExtraFiles = []*os.File{baton}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer stopped.Close() // all of them end then
	baton.Close()
	stop.Close()
	cmd.Wait() // the second runs
	pids, gaveUp := map[int]bool{}, 0
	for range 10 {
		o := probe.Real().Openers(f.Fd())
		if len(o.Found) == 0 {
			if o.Incomplete == nil || o.Incomplete.Error() != "new processes kept appearing" {
				t.Fatalf("missed; incomplete: %v", o.Incomplete)
			}
			gaveUp++
		}
		for _, opener := range o.Found {
			pids[opener.PID] = true
		}
	}
	t.Logf("met %d processes in 10 walks, gave up in %d", len(pids), gaveUp)
}

func TestFilesystem(t *testing.T) {
	dir := t.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f := openTemp(t)
	a, b := probe.Real().Filesystem(d.Fd()), probe.Real().Filesystem(f.Fd())
	if a.Type.Value == "" || a.ID.Value == "" || a.Type != b.Type || a.ID != b.ID ||
		a.Local != b.Local {
		t.Errorf("folder %+v, file %+v", a, b)
	}
	for path, want := range map[string]struct {
		name  string
		local bool
	}{"/dev/shm": {"tmpfs", true}, "/proc": {"proc", false}, "/sys": {"sysfs", false}} {
		d, err := os.Open(path)
		if err != nil {
			t.Logf("no %s: %v", path, err)
			continue
		}
		fs := probe.Real().Filesystem(d.Fd())
		d.Close()
		if fs.Type.Value != want.name || fs.Local != want.local || !fs.ID.Known {
			t.Errorf("%s: %+v", path, fs)
		}
	}
	bad := probe.Real().Filesystem(^uintptr(0))
	wantUnknown(t, "type", bad.Type)
	wantUnknown(t, "id", bad.ID)
	if bad.Local {
		t.Error("nothing is local")
	}
}
