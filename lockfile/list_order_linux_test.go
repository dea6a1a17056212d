package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// abandonedLocks leaves the locks of many states, whose owner is gone, in some folders: copies of
// the record of a process that was killed. It returns the states in the order of a walk.
func abandonedLocks(t *testing.T, root string, n int) (states []string) {
	t.Helper()
	dead := startWitness(t, nil)
	first := filepath.Join(root, "first")
	mustHold(t, dead, first)
	dead.Kill()
	content, err := os.ReadFile(first + ".lock")
	must(t, err)
	states = append(states, first)
	for i := range n - 1 {
		dir := filepath.Join(root, []string{"", "a", "a/b", "z.lock", "z"}[i%5])
		must(t, os.MkdirAll(dir, 0o755))
		state := filepath.Join(dir, fmt.Sprintf("s%d", i))
		putFile(t, state+".lock", content)
		states = append(states, state)
	}
	// Folders and records of one folder are sorted together, as names of files.
	slices.SortFunc(states, func(a, b string) int {
		return slices.Compare(strings.Split(a+".lock", "/"), strings.Split(b+".lock", "/"))
	})
	return states
}

// Every lock once, in the order of the names, however many goroutines judge them.
func TestListOrder(t *testing.T) {
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755))
	want := abandonedLocks(t, root, 3000)
	broken := filepath.Join(root, "a", "aa")
	putFile(t, broken+".lock", []byte(`{"v":2,"lease":1}`))
	at := slices.IndexFunc(want, func(state string) bool { return state > broken })
	want = slices.Insert(want, at, broken)
	for _, processors := range []int{1, 2, 7} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		var got []string
		for in, err := range lockfile.List(root, lockfile.Options{}) {
			must(t, err)
			got = append(got, in.State)
			verdict := identity.Gone // of copies by the number alone, as their files are others
			if in.State == broken {
				verdict = identity.Unknown
			}
			if in.Verdict != verdict {
				t.Fatalf("%s: %v", in.State, in.Finding)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("with %d processors: %d locks, want %d in another order, or others: %q",
				processors, len(got), len(want), firstDifference(got, want))
		}
	}
}

func firstDifference(a, b []string) []string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return []string{a[i], b[i]}
		}
	}
	return nil
}

// Whoever leaves the loop, by break or by panic, leaves nothing running and nothing open.
func TestListLeavesNothing(t *testing.T) {
	root := t.TempDir()
	abandonedLocks(t, root, 1000)
	for range lockfile.List(root, lockfile.Options{}) { // what is opened once for the process
	}
	goroutines, files := runtime.NumGoroutine(), openDescriptors(t)
	for stop := range 40 {
		func() {
			defer func() { _ = recover() }()
			n := 0
			for _, err := range lockfile.List(root, lockfile.Options{}) {
				must(t, err)
				if n++; n > 25*stop && stop%2 == 0 {
					break
				} else if n > 25*stop {
					panic("enough")
				}
			}
		}()
	}
	nothingLeft(t, goroutines, files)
}
