package lockfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// onlooker is who looks at a lock: this process, or a child in other surroundings.
type onlooker func(verb, state string) lockAnswer

// lookHere is this process as a reader.
func lookHere(opts lockfile.Options) onlooker {
	return func(verb, state string) lockAnswer { return askLock(verb, state, opts) }
}

// lookThere is a child as a reader. It may know the state by another path.
func lookThere(t *testing.T, c *probetest.Child, path string) onlooker {
	return func(verb, state string) (a lockAnswer) {
		t.Helper()
		if path != "" {
			state = path
		}
		c.Send(verb + " " + state)
		c.JSON(&a)
		return a
	}
}

// wantFree demands that nobody holds the lock.
func wantFree(t *testing.T, r onlooker, state string) {
	t.Helper()
	if a := r("inspect", state); a.Err != "" || a.Inspection.Verdict != identity.Free {
		t.Fatalf("%v, %s; want free", a.Inspection.Finding, a.Err)
	}
}

// wantAlive demands that r finds the owner alive for that reason and does not take the lock.
func wantAlive(t *testing.T, r onlooker, state string, reason identity.Reason) lockfile.Inspection {
	t.Helper()
	return wantRefused(t, r, state, identity.Alive, reason)
}

// wantUnknown demands that r cannot judge the lock for that reason and does not take it.
func wantUnknown(t *testing.T, r onlooker, state string,
	reason identity.Reason) lockfile.Inspection {
	t.Helper()
	return wantRefused(t, r, state, identity.Unknown, reason)
}

// wantRefused demands one verdict of all who look or try, and that nothing changes in the folder.
func wantRefused(t *testing.T, r onlooker, state string, verdict identity.Verdict,
	reason identity.Reason) lockfile.Inspection {
	t.Helper()
	before := folderFacts(t, filepath.Dir(state))
	looked := wantVerdict(t, r("inspect", state), verdict, reason)
	for _, verb := range []string{"try", "recover"} {
		a := r(verb, state)
		if !a.Busy || a.Got || a.Recovered != nil {
			t.Fatalf("%s of a lock whose owner is %v: %+v", verb, verdict, a)
		}
		wantVerdict(t, a, verdict, reason)
		for _, word := range []string{looked.State, looked.Lock, verdictWord[verdict],
			looked.Sentence} {
			if !strings.Contains(a.Err, word) {
				t.Errorf("%s: the refusal %q does not say %q", verb, a.Err, word)
			}
		}
	}
	wantFolder(t, filepath.Dir(state), before)
	return looked
}

var verdictWord = map[identity.Verdict]string{
	identity.Alive: "held:", identity.Unknown: "cannot be judged:",
}

// wantGone demands that r finds the owner gone for that reason, and that looking changes nothing.
func wantGone(t *testing.T, r onlooker, state string, reason identity.Reason) lockfile.Inspection {
	t.Helper()
	before := folderFacts(t, filepath.Dir(state))
	looked := wantVerdict(t, r("inspect", state), identity.Gone, reason)
	wantFolder(t, filepath.Dir(state), before)
	return looked
}

// wantTaken is wantGone, and then r recovers the lock, and it is free.
func wantTaken(t *testing.T, r onlooker, state string, reason identity.Reason) lockfile.Inspection {
	t.Helper()
	looked := wantGone(t, r, state, reason)
	a := r("recover", state)
	if a.Err != "" || a.Recovered == nil || a.Recovered.Finding.Reason != reason ||
		a.Recovered.LockID != looked.LockID {
		t.Fatalf("recover: %+v, %s", a.Recovered, a.Err)
	}
	wantFree(t, r, state)
	log, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
	if err != nil || unreadable != 0 || len(log) == 0 {
		t.Fatalf("log: %v, %d unreadable, %v", log, unreadable, err)
	}
	last := log[len(log)-1]
	if last.Event != lockfile.EventTakeover || last.Reason != string(reason) ||
		last.LockID != looked.LockID || last.Fence != a.Recovered.Fence || len(last.Evidence) == 0 {
		t.Errorf("the log says %+v", last)
	}
	return looked
}

func wantVerdict(t *testing.T, a lockAnswer, verdict identity.Verdict,
	reason identity.Reason) lockfile.Inspection {
	t.Helper()
	in := a.Inspection
	if in.Verdict != verdict || in.Reason != reason || a.Err != "" && !a.Busy {
		t.Fatalf("%v [%s] %s\nwant %v [%s]; evidence:%s", in.Finding, in.Reason, a.Err, verdict,
			reason, evidenceText(in))
	}
	if in.Sentence == "" || in.Next == "" || in.LockID == "" {
		t.Fatalf("sentence %q, next step %q, lock id %q: none may be empty", in.Sentence, in.Next,
			in.LockID)
	}
	return in
}

// evidenceText is the evidence of an inspection as text, for messages and to search in.
func evidenceText(in lockfile.Inspection) string {
	var b strings.Builder
	for _, e := range in.Evidence {
		fmt.Fprintf(&b, "\n  %+v", e)
	}
	return b.String()
}

func wantSays(t *testing.T, in lockfile.Inspection, words ...string) {
	t.Helper()
	all := in.Sentence + evidenceText(in)
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("neither sentence nor evidence says %q:\n%s", w, all)
		}
	}
}

// folderFacts is everything about the files of a folder that looking must not change.
func folderFacts(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s inode %d links %d owner %d mode %v size %d modified %v", e.Name(),
			st.Ino, st.Nlink, st.Uid, info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() && info.Size() < 1<<21 {
			content, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if len(content) > 4096 {
				line += fmt.Sprintf(" %x", sha256.Sum256(content))
			} else {
				line += fmt.Sprintf(" %q", content)
			}
		}
		files = append(files, line)
	}
	return files
}

func wantFolder(t *testing.T, dir string, before []string) {
	t.Helper()
	if after := folderFacts(t, dir); !slices.Equal(after, before) {
		t.Fatalf("the folder changed\nfrom %s\nto   %s", strings.Join(before, "\n     "),
			strings.Join(after, "\n     "))
	}
}

// recordFields is a record as a program in any language sees it.
type recordFields map[string]any

// proof returns the exact recordFields.
func (f recordFields) proof() recordFields { return f["proof"].(map[string]any) }

func parseRecord(t *testing.T, content []byte) recordFields {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	var f map[string]any
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f recordFields) bytes(t *testing.T) []byte {
	t.Helper()
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// editRecord changes the record of state in place: the same file, other bytes.
func editRecord(t *testing.T, state string, change func(recordFields)) {
	t.Helper()
	content, err := os.ReadFile(state + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	f := parseRecord(t, content)
	change(f)
	putFile(t, state+".lock", f.bytes(t))
}

// putFile writes a file in place.
func putFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyRecord puts a copy of the record in its place: the same bytes in another file.
func copyRecord(t *testing.T, state string) {
	t.Helper()
	content, err := os.ReadFile(state + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, state+".copy", content)
	if err := os.Rename(state+".copy", state+".lock"); err != nil {
		t.Fatal(err)
	}
}

// withoutKernelLock lets a record claim no kernel lock, so that the process decides.
func withoutKernelLock(f recordFields) { delete(f.proof(), "kernelLock") }

// backdate sets the times of a record back by ten years: they must not mean anything.
func backdate(t *testing.T, state string) {
	t.Helper()
	old := time.Now().AddDate(-10, 0, 0)
	if err := os.Chtimes(state+".lock", old, old); err != nil {
		t.Fatal(err)
	}
}

// openState returns the path of a state that does not exist, in a folder that every user can enter.
func openState(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "state.json")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
