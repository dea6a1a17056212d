package lockfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// What must hold under every schedule, crash and fault, and what the files contend_, crash_,
// fault_, gate_, commit_, break_, log_ and options_ test, with real processes:
//
//	I1 never two processes that hold at the same time and both get a commit through
//	I2 no commit by a process after another's takeover
//	I3 the counter never decreases, and no fence number is handed out twice across a takeover
//	I4 after any crash, some process can acquire without a person
//	I5 a living owner that keeps its descriptors is never judged gone
//	I6 the number of files is bounded
//	I7 the log's largest fence is at least any fence in use
//	I8 no error is swallowed: every failure names the step and the path

func init() { probetest.Register("actor", actor) }

// script is what a child was told, and where it stands. Its verbs are in the table below, and for
// one system in the files that need them.
type script struct {
	p       *probetest.Peer
	path    string
	opts    lockfile.Options
	lock    *lockfile.Lock
	below   *lockfile.Inherited
	gate    fence.Gate
	settled func() // called when a verb is done
}

// knobs are the options that a parent can set.
type knobs struct {
	Label             string              `json:",omitempty"`
	GateWait          time.Duration       `json:",omitempty"`
	FreshToken        bool                `json:",omitempty"`
	WithoutKernelLock bool                `json:",omitempty"`
	Recovery          lockfile.Recovery   `json:",omitempty"`
	Durability        lockfile.Durability `json:",omitempty"`
}

func (k knobs) options() lockfile.Options {
	return lockfile.Options{Label: k.Label, GateWait: k.GateWait, FreshToken: k.FreshToken,
		WithoutKernelLock: k.WithoutKernelLock, Recovery: k.Recovery, Durability: k.Durability}
}

var verbs = map[string]func(s *script, rest string) string{
	"acquire": func(s *script, rest string) string {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if wait, err := time.ParseDuration(rest); err == nil {
			ctx, cancel = context.WithTimeout(ctx, wait)
		}
		defer cancel()
		return s.held(lockfile.Acquire(ctx, s.path, s.opts))
	},
	"try": func(s *script, _ string) string { return s.held(lockfile.TryAcquire(s.path, s.opts)) },
	// announced acquires and says "waiting ID" before it waits.
	"announced": func(s *script, _ string) string {
		opts := s.opts
		opts.OnWaiting = func(in lockfile.Inspection) { s.p.Send("waiting " + in.LockID) }
		return s.held(lockfile.Acquire(context.Background(), s.path, opts))
	},
	"check": func(s *script, _ string) string { return said(s.tenure().Check()) },
	"write": func(s *script, text string) string {
		return said(s.tenure().WriteFile(s.path, []byte(text), 0o600))
	},
	// add raises the number in the state by one.
	"add": func(s *script, _ string) string {
		n, err := number(s.path)
		if err == nil {
			err = s.tenure().WriteFile(s.path, []byte(strconv.Itoa(n+1)), 0o600)
		}
		return said(err)
	},
	// commit says "inside" inside the gate, does what it is told there, and then puts the text in
	// place.
	"commit": func(s *script, text string) string {
		return said(s.tenure().Commit(context.Background(), func() error {
			s.p.Send("inside")
			if word := s.p.Line(); word != "go" {
				return errors.New(word)
			}
			return replace(s.path, text)
		}))
	},
	"release": func(s *script, _ string) string { return said(s.lock.Release()) },
	"environ": func(s *script, _ string) string { return strings.Join(s.lock.Environ(), " ") },
	"inherit": func(s *script, environ string) string {
		var err error
		s.below, err = lockfile.Inherit(s.path, strings.Fields(environ), s.opts)
		if err == nil && s.below == nil {
			return "nothing"
		}
		return said(err)
	},
	"recover": func(s *script, _ string) string {
		r, err := lockfile.Recover(context.Background(), s.path, s.opts)
		if err == nil && r == nil {
			return "nothing"
		}
		return said(err)
	},
	"break": func(s *script, id string) string {
		_, err := lockfile.Break(context.Background(), s.path,
			lockfile.BreakRequest{LockID: id, Reason: "test", EvenIfAlive: true}, s.opts)
		return said(err)
	},
	// gate holds the gate, leave lets it go.
	"gate": func(s *script, _ string) string {
		c, err := fence.Open(s.path + ".fence")
		if err == nil {
			s.gate, err = c.Hold(context.Background())
		}
		return said(err)
	},
	"leave": func(s *script, _ string) string { return said(s.gate.Release()) },
	"options": func(s *script, text string) string {
		var k knobs
		s.p.Check(json.Unmarshal([]byte(text), &k))
		s.opts = k.options()
		return "ok"
	},
}

func actor(p *probetest.Peer) {
	s := &script{p: p, path: p.Arg(0), settled: func() {}}
	for {
		verb, rest, _ := strings.Cut(p.Line(), " ")
		do := verbs[verb]
		if do == nil {
			p.Fatalf("what is %q?", verb)
		}
		settled := s.settled // a verb may change it for those after it
		reply := do(s, rest)
		settled()
		p.Send(reply)
	}
}

// tenure is the lock, or the lock above.
func (s *script) tenure() interface {
	Check() error
	Commit(context.Context, func() error) error
	WriteFile(string, []byte, fs.FileMode) error
} {
	if s.below != nil {
		return s.below
	}
	return s.lock
}

// held tells "held ID FENCE free" or "held ID FENCE recovered", or what failed.
func (s *script) held(lock *lockfile.Lock, err error) string {
	if err != nil {
		return said(err)
	}
	s.lock = lock
	how := "free"
	if lock.Recovered() != nil {
		how = "recovered"
	}
	return fmt.Sprintf("held %s %d %s", lock.ID(), lock.Token(), how)
}

// said is outcome, with the kind before a text.
func said(err error) string {
	switch text := outcome(err); {
	case errors.Is(err, lockfile.ErrBusy):
		return "busy " + text
	case err != nil && text == oneLine(err):
		return "failed " + string(lockfile.KindOf(err)) + " " + text
	default:
		return text
	}
}

// tenureOf reads "held ID FENCE HOW".
func tenureOf(t probetest.TB, reply string) (id string, token int, recovered bool) {
	t.Helper()
	var how string
	if _, err := fmt.Sscanf(reply, "held %s %d %s", &id, &token, &how); err != nil {
		t.Fatalf("the child says %q instead of held", reply)
	}
	return id, token, how == "recovered"
}

// startActor starts a child for the state, with those knobs.
func startActor(t probetest.TB, state string, k ...knobs) *probetest.Child {
	t.Helper()
	child := probetest.Start(t, "actor", state)
	for _, k := range k {
		setKnobs(t, child, k)
	}
	return child
}

func setKnobs(t probetest.TB, child *probetest.Child, k knobs) {
	t.Helper()
	text, err := json.Marshal(k)
	noError(t, err)
	if got := child.Ask("options " + string(text)); got != "ok" {
		t.Fatalf("options: %s", got)
	}
}

// expect asks and fails the test when the answer is another one.
func expect(t probetest.TB, child *probetest.Child, ask, want string) {
	t.Helper()
	if got := child.Ask(ask); got != want {
		t.Fatalf("%s: the child says %q, want %q", ask, got, want)
	}
}

// needsProof skips a test where it is not known yet how to prove a death.
func needsProof(t probetest.TB) {
	t.Helper()
	if s, ok := t.(testing.TB); ok && runtime.GOOS != "linux" &&
		runtime.GOOS != "windows" {
		s.Skip("no probe on this system proves a death")
	}
}

// isDead reports whether a finding says that a process that was killed is not there any more: which
// of the two it says depends on whether anybody has it open still, on Windows.
func isDead(r identity.Reason) bool {
	return r == identity.NoSuchProcess || r == identity.ProcessExited
}

// abandon leaves a lock on the state whose owner is dead, and returns its id and number.
func abandon(t probetest.TB, state string) (id string, token int) {
	t.Helper()
	needsProof(t)
	child := startActor(t, state)
	id, token, _ = tenureOf(t, child.Ask("acquire"))
	child.Kill()
	return id, token
}

func newState(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noError(t, err)
	return filepath.Join(dir, "state")
}

// symlink makes a link, which Wine only says it does, and Windows only for those who may.
func symlink(t testing.TB, to, at string) {
	t.Helper()
	notOnWine(t, "it has no symbolic links")
	if err := os.Symlink(to, at); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
}

func noError(t probetest.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func wantError(t probetest.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// wantText fails the test unless the text has all the parts.
func wantText(t probetest.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("%q does not mention %q", text, part)
		}
	}
}

func content(t probetest.TB, path string) string {
	t.Helper()
	b, err := readShared(path)
	noError(t, err)
	return string(b)
}

// number reads the number in a file; no file is 0.
func number(path string) (int, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// counterOf reads the fence, as any program could.
func counterOf(t probetest.TB, state string) int {
	t.Helper()
	n, err := number(state + ".fence")
	noError(t, err)
	return n
}

// replace puts content in place as other programs do.
func replace(path, text string) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// leftovers returns the names beside the state that must not be there when no lock is held.
func leftovers(t probetest.TB, state string) (odd []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(state))
	noError(t, err)
	base := filepath.Base(state)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), base)
		switch {
		case !ours: // a test's own
		case rest == "", rest == ".fence", rest == ".recovery.log", rest == ".recovery.log.1",
			strings.HasPrefix(rest, ".recovered-"):
		default:
			odd = append(odd, e.Name())
		}
	}
	return odd
}

func noLeftovers(t probetest.TB, state string) {
	t.Helper()
	if odd := leftovers(t, state); len(odd) != 0 {
		t.Fatalf("left over: %q", odd)
	}
}

// noLeftoversBut allows one name, of a lock that is held.
func noLeftoversBut(t probetest.TB, state, but string) {
	t.Helper()
	for _, name := range leftovers(t, state) {
		if name != but {
			t.Fatalf("left over: %s", name)
		}
	}
}
