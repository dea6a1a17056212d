package lockfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// Every next step ends in a command that a shell runs as it stands, wherever the state lies.
func TestInspectNextStep(t *testing.T) {
	folder := filepath.Join(t.TempDir(),
		"it's \"a\" $(touch pwned) `touch pwned`;\n& -- *?\\ folder ü")
	must(t, os.Mkdir(folder, 0o755))
	for _, dir := range []string{filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		must(t, os.Chmod(dir, 0o755)) // other users come in
	}
	state := filepath.Join(folder, "-state !x#")
	plain := filepath.Join(filepath.Dir(folder), "plain") // children are told of paths in one line
	good := deadRecord(t, plain)
	must(t, os.Rename(plain+".lock", state+".lock"))
	inspect := func(opts lockfile.Options) lockfile.Inspection {
		t.Helper()
		a := askLock("inspect", state, opts)
		if a.Err != "" {
			t.Fatal(a.Err)
		}
		return a.Inspection
	}
	breakIt := func(in lockfile.Inspection) []string {
		return []string{"break", "--lock-id", in.LockID, "--reason", "…", state}
	}
	recoverIt := []string{"recover", state}

	wantCommand(t, inspect(lockfile.Options{}), recoverIt)
	wantCommand(t, inspect(lockfile.Options{Recovery: lockfile.RecoverNever}), recoverIt)
	shared := inspect(lockfile.Options{System: sharedSystem{probe.Real()}})
	wantCommand(t, shared, breakIt(shared))
	for _, content := range []string{"1234\n", `{"v":3}`, string(with(t, good, "pid", "0")),
		strings.Repeat("0123456789abcdef", 3), strings.Repeat("x", 70_000),
		string(with(t, good, "os", `"darwin"`)),
		string(with(t, good, "host", `"elsewhere; touch pwned"`)),
		strings.Replace(string(good), `"kernelLock":"ofd"`, `"x":1`, 1)} {
		putFile(t, state+".lock", []byte(content))
		in := inspect(lockfile.Options{System: sharedSystem{probe.Real()}})
		if in.Verdict != identity.Unknown {
			t.Fatalf("%.60s: %v", content, in.Finding)
		}
		wantCommand(t, in, breakIt(in))
	}
	editRecordOf(t, state, good, func(f recordFields) {
		withoutKernelLock(f)
		f.proof()["pidns"] = 1
	})
	in := inspect(lockfile.Options{})
	if in.Reason != identity.OtherPIDNamespace || !strings.Contains(in.Next, "container") {
		t.Errorf("%v: %s", in.Finding, in.Next)
	}
	wantCommand(t, in, breakIt(in))
	must(t, os.Remove(state+".lock"))
	must(t, unix.Mkfifo(state+".lock", 0o600))
	in = inspect(lockfile.Options{})
	wantCommand(t, in, breakIt(in))
	must(t, os.Remove(state+".lock"))

	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	must(t, err)
	wait := []string{"run", "--wait", "60s", state, "--", "CMD"}
	wantCommand(t, inspect(lockfile.Options{}), wait)
	if os.Geteuid() == 0 {
		c := startWitness(t, nil, "user "+strconv.Itoa(otherUser))
		must(t, os.Symlink(state, filepath.Join(filepath.Dir(folder), "simple")))
		a := lookThere(t, c, filepath.Join(filepath.Dir(folder), "simple"))("inspect", state)
		if a.Inspection.Reason != identity.NotPermitted {
			t.Fatalf("%+v", a)
		}
		wantCommand(t, a.Inspection, []string{"inspect", state})
	}
	must(t, lock.Release())
	if in = inspect(lockfile.Options{}); strings.Contains(in.Next, "probate") || in.Next == "" {
		t.Errorf("free: next step %q", in.Next)
	}
}

// editRecordOf writes a changed record in place of whatever stands there.
func editRecordOf(t *testing.T, state string, content []byte, change func(recordFields)) {
	t.Helper()
	putFile(t, state+".lock", content)
	editRecord(t, state, change)
}

var probateVerb = regexp.MustCompile(`\bprobate (run|inspect|recover|break|log) `)

// wantCommand lets a shell split the last command of a next step into words.
func wantCommand(t *testing.T, in lockfile.Inspection, want []string) {
	t.Helper()
	at := probateVerb.FindAllStringIndex(in.Next, -1)
	if len(at) == 0 {
		t.Fatalf("no command in %q", in.Next)
	}
	script := "probate() { for word; do printf '%s\\0' \"$word\"; done; }\n" +
		in.Next[at[len(at)-1][0]:]
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	must(t, err)
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !slices.Equal(words, want) {
		t.Errorf("%v: next step %q\nis the command %q\nwant           %q", in.Finding, in.Next,
			words, want)
	}
	if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
		t.Errorf("%q made %v", in.Next, left)
	}
}
