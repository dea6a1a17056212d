package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// A tree with a hundred locks of all kinds, and files that only look like locks.
func TestListTree(t *testing.T) {
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755))
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	want := map[string]string{} // by state
	folder := func(i int) string {
		dir := filepath.Join(root, strconv.Itoa(i%7), "deep", "er")
		must(t, os.MkdirAll(dir, 0o755))
		return dir
	}
	dead := startWitness(t, nil)
	for i := range 100 {
		state := filepath.Join(folder(i), fmt.Sprintf("state %d.json", i))
		switch i % 5 {
		case 0: // released
			lock, err := lockfile.TryAcquire(state, lockfile.Options{})
			must(t, err)
			must(t, lock.Release())
		case 1: // held here
			lock, err := lockfile.TryAcquire(state, lockfile.Options{})
			must(t, err)
			defer lock.Release()
			want[state] = "alive " + string(identity.KernelLockHeld)
		case 2: // of a process that was killed
			state = strings.ReplaceAll(state, " ", "_")
			mustHold(t, dead, state)
			want[state] = "gone " + string(identity.NoSuchProcess)
		case 3:
			putFile(t, state+".lock", []byte(`{"v":2,"lease":1}`))
			want[state] = "unknown " + string(identity.RecordDamaged)
		case 4: // nobody's, beside a fence
			putFile(t, state+".lock", []byte("1234\n"))
			putFile(t, state+".fence", []byte("0\n"))
			want[state] = "unknown " + string(identity.RecordForeign)
		}
	}
	dead.Kill()
	// What other programs call a lock.
	for name, content := range map[string]string{
		"Cargo.lock": "[[package]]\n", "yarn.lock": "# yarn\n",
		"flake.lock": `{"nodes":{},"version":7}`, "empty.lock": "",
		"index.lock": "DIRC\x00\x00\x00\x02", ".lock": "x",
	} {
		putFile(t, filepath.Join(root, name), []byte(content))
	}
	must(t, os.Symlink(root, filepath.Join(root, "0", "loop")))
	must(t, os.Symlink("/nowhere", filepath.Join(root, "dangling.lock")))
	must(t, os.Mkdir(filepath.Join(root, "folder.lock"), 0o755))
	inFolder := filepath.Join(root, "folder.lock", "state")
	putFile(t, inFolder+".lock", []byte(strings.Repeat("0123456789abcdef", 3)))
	want[inFolder] = "unknown " + string(identity.RecordLeaseV1)

	check := func(t *testing.T, dir string) {
		t.Helper()
		got := map[string]string{}
		for in, err := range lockfile.List(dir, lockfile.Options{}) {
			if err != nil {
				t.Errorf("%s: %v", in.State, err)
				continue
			}
			if got[in.State] != "" {
				t.Errorf("%s twice", in.State)
			}
			got[in.State] = in.Verdict.String() + " " + string(in.Reason)
			if in.Lock != in.State+".lock" || in.LockID == "" || in.Next == "" {
				t.Errorf("%+v", in)
			}
		}
		wrong := 0
		for state, verdict := range want {
			if got[state] != verdict {
				if wrong++; wrong <= 3 {
					t.Errorf("%s is %q, want %q", state, got[state], verdict)
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d are wrong", wrong, len(want))
		}
		for state := range got {
			if want[state] == "" {
				t.Errorf("%s is no lock: %s", state, got[state])
			}
		}
	}
	check(t, root)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(root, link))
	t.Run("through a link", func(t *testing.T) { check(t, link) })
	t.Run("relative", func(t *testing.T) {
		t.Chdir(root)
		check(t, ".")
	})

	n := 0
	for range lockfile.List(root, lockfile.Options{}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("the walk went on to %d", n)
	}
}

// Folders and records that may not be read are told, and the walk goes on.
func TestListUnreadable(t *testing.T) {
	skipUnlessRoot(t)
	root := openState(t)
	must(t, os.Mkdir(root, 0o755))
	for _, name := range []string{"a", "b", "c"} {
		must(t, os.Mkdir(filepath.Join(root, name), 0o755))
		lock, err := lockfile.TryAcquire(filepath.Join(root, name, "state"),
			lockfile.Options{Mode: 0o644})
		must(t, err)
		defer lock.Release()
	}
	must(t, os.Chmod(filepath.Join(root, "b"), 0o700))
	must(t, os.Chmod(filepath.Join(root, "c", "state.lock"), 0o600))
	c := startWitness(t, nil, "user "+strconv.Itoa(otherUser))
	c.Send("list " + root)
	var got []listedLock
	c.JSON(&got)
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	if in := got[0].Inspection; in.State != filepath.Join(root, "a", "state") ||
		in.Verdict != identity.Alive {
		t.Errorf("first %+v", got[0])
	}
	b := filepath.Join(root, "b")
	if got[1].Inspection.State != b || !strings.Contains(got[1].Err, b) ||
		!strings.Contains(got[1].Err, "permission denied") {
		t.Errorf("second %+v", got[1])
	}
	if in := got[2].Inspection; in.State != filepath.Join(root, "c", "state") ||
		in.Reason != identity.NotPermitted {
		t.Errorf("third %+v", got[2])
	}

	var missing []error
	for _, err := range lockfile.List(filepath.Join(root, "missing"), lockfile.Options{}) {
		missing = append(missing, err)
	}
	if len(missing) != 1 || missing[0] == nil || !strings.Contains(missing[0].Error(), "missing") {
		t.Errorf("a folder that is not there: %v", missing)
	}
}

// A state that is a link has its lock beside what it names. A lock of another program beside the
// link is a lock all the same.
func TestListLockBesideLink(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "data"), 0o755))
	must(t, os.Symlink(filepath.Join("data", "real"), filepath.Join(root, "state")))
	putFile(t, filepath.Join(root, "state.lock"), []byte(strings.Repeat("0123456789abcdef", 3)))
	var locks []string
	for in, err := range lockfile.List(root, lockfile.Options{}) {
		must(t, err)
		locks = append(locks, in.Lock)
	}
	if len(locks) != 1 || locks[0] != filepath.Join(root, "state.lock") {
		t.Errorf("locks %q", locks)
	}
}
