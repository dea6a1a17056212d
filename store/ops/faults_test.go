package ops_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/ops"
)

// Faults that stores of this kind have had. Others are in damage_test.go (one bad file blocked all,
// and a torn newest version lost the operation), stopped_unix_test.go (a stopped writer's lock was
// taken by its age, and its late write lost the other's), cost_test.go (Begin became slower with
// every finished operation) and in the conformance kit (revisions that did not grow, nonces with
// names of an object's members).

// Nothing was flushed, so that after a power cut files were there and empty. Here a change is only
// acknowledged when every file and every folder with a new name in it is flushed.
func TestFlushes(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("system calls can be counted and failed on Linux only, amd64 and arm64")
	}
	child := probetest.Start(t, "actor", t.TempDir(), "flush first")
	child.Expect("ready")
	for _, verb := range []string{"begin w w", "begin r1 e", "accept r1 m"} {
		if said := child.Ask(verb); said != "ok" { // folders, lock and fence are there
			t.Fatal(said)
		}
	}
	child.Send("calls flush")
	ofLock := 0
	for _, c := range []struct {
		verb string
		want int
	}{
		{"accept r1 m", 0},           // again: the lock alone
		{"swap r1 applying", 2},      // version, folder
		{"own r1 d", 2},              // the same
		{"accept r1 n", 4},           // nonce, its folder, version, folder
		{"swap r1 applied", 2},       // as before
		{"begin r2 e", 6},            // request, its folder, two copies, folder, folder of the finished
		{"follow r2 cancelled s", 8}, // request, its folder, version, folder; two copies, folders
		{"swap s cancelled", 2},
		{"swap w cancelled", 2},
		{"archive", 3}, // folder, archive, folder of the finished
	} {
		calls, said := 0, ""
		_, err := fmt.Sscanf(child.Ask(c.verb), "%d calls, %s", &calls, &said)
		if err != nil || said != "ok" {
			t.Fatalf("%s: %s, %v", c.verb, said, err)
		}
		if c.want == 0 {
			ofLock = calls
		} else if calls-ofLock < c.want {
			t.Errorf("%s: %d flushes, want %d", c.verb, calls-ofLock, c.want)
		}
	}
	// Where a flush fails nothing is acknowledged.
	for _, c := range scenarios {
		before, again := c.prepare(t)
		dir := again()
		child := start(t, dir)
		for _, verb := range []string{"begin warm warm", "swap warm cancelled"} {
			if said := child.Ask(verb); said != "ok" {
				t.Fatal(said)
			}
		}
		child.Send("fail flush")
		said := child.Ask(c.verb)
		if said != "unsure" && !strings.Contains(said, "input/output error") {
			t.Errorf("%s, and no flush succeeds: %s", c.name, said)
		}
		now := slices.DeleteFunc(summary(t, open(t, dir, ops.Options{})), func(line string) bool {
			return strings.HasPrefix(line, "warm ")
		})
		if !c.parts && !slices.Equal(now, before) {
			t.Errorf("%s failed:\n%s\nbefore\n%s", c.name, strings.Join(now, "\n"),
				strings.Join(before, "\n"))
		}
		child.Close()
	}
}

// After a kill everybody else had to wait until the dead writer's lock was old enough. Here the
// next one takes it over at once, by proof, without any waiting.
func TestNoOutage(t *testing.T) {
	dir := t.TempDir()
	child := start(t, dir)
	if said := child.Ask("begin r e"); said != "ok" {
		t.Fatal(said)
	}
	for _, n := range []int{1, 4, 6} { // before its change, before its commit, inside
		child.Send(fmt.Sprint("stop ", n))
		if said := child.Ask("swap r applying"); !strings.HasPrefix(said, "at ") {
			t.Fatal(said)
		}
		child.Kill()
		s := open(t, dir, ops.Options{})
		lock, err := lockfile.TryAcquire(s.LockState(), lockfile.Options{})
		noError(t, err)
		if lock.Recovered() == nil {
			t.Error("the lock of a writer that was killed in its change was free")
		}
		noError(t, lock.Release())
		child = start(t, dir)
	}
}

// A listing reported a sound store as corrupt while an archiving was under way. Here it follows the
// operations wherever they go while it is under way itself, and has each of them once.
func TestListingFollows(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, s *ops.Folder){
		"archive": func(t *testing.T, s *ops.Folder) {
			_, err := s.ArchiveFinished(ctx)
			noError(t, err)
		},
		"begin": func(t *testing.T, s *ops.Folder) {
			for n := range 4 {
				begin(t, s, fmt.Sprint("next", n), fmt.Sprint("e", n))
			}
		},
		"begin and finish": func(t *testing.T, s *ops.Folder) {
			for n := range 4 {
				swap(t, s, begin(t, s, fmt.Sprint("next", n), fmt.Sprint("e", n)), "cancelled")
				begin(t, s, fmt.Sprint("third", n), fmt.Sprint("e", n))
			}
		},
	} {
		for after := range 8 {
			dir := t.TempDir()
			s := open(t, dir, ops.Options{})
			want := map[string]int{}
			for n := range 8 { // half of them are in the files of their environments
				id := fmt.Sprint("r", n)
				swap(t, s, begin(t, s, id, fmt.Sprint("e", n%4)), "cancelled")
				want[id] = 1
			}
			got, n := map[string]int{}, 0
			for op, err := range s.All() {
				if err != nil {
					t.Fatalf("%s after %d: %v", name, after, err)
				}
				if strings.HasPrefix(op.ID, "r") {
					got[op.ID]++
				}
				if n == after {
					meanwhile(t, s)
				}
				n++
			}
			if name == "archive" { // what is put away may be missing, and nothing is there twice
				maps.DeleteFunc(want, func(id string, _ int) bool { return got[id] == 0 })
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s after %d: %v, want %v", name, after, got, want)
			}
		}
	}
}

// A process's death leaves its operation to be found, with the proof; one that lives is not taken
// for dead however long it does nothing.
func TestJudgedByProof(t *testing.T) {
	dir := t.TempDir()
	dead, idle := start(t, dir), start(t, dir)
	if a, b := dead.Ask("begin dead e1"), idle.Ask("begin idle e2"); a != "ok" || b != "ok" {
		t.Fatal(a, b)
	}
	dead.Kill()
	want := map[string]string{"dead": "gone", "idle": "alive"}
	for r, err := range open(t, dir, ops.Options{}).Recoverable() {
		noError(t, err)
		if got := r.Finding.Verdict.String(); got != want[r.Operation.ID] ||
			len(r.Finding.Evidence) == 0 {
			t.Errorf("%s: %+v", r.Operation.ID, r.Finding)
		}
		delete(want, r.Operation.ID)
	}
	if len(want) != 0 {
		t.Errorf("not found: %v", want)
	}
}
