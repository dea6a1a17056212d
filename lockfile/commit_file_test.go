package lockfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() { probetest.Register("reader", reader) }

// reader reads the file of its first argument until it is told to stop, and tells how often, or
// what it saw that must not be: a file in which not all bytes are the same, or fewer than its first
// says.
func reader(p *probetest.Peer) {
	p.Send("reading")
	stop := make(chan bool)
	go func() { p.Expect("stop"); close(stop) }()
	for n := 0; ; n++ {
		select {
		case <-stop:
			p.Send("fine")
			return
		default:
		}
		b, err := readShared(p.Arg(0))
		if err != nil || len(b) != int(b[0]-'a'+1)*50_000 ||
			len(bytes.Trim(b, string(b[:1]))) != 0 {
			p.Send("not whole")
			p.Wait()
		}
	}
}

// Readers, who need no lock, see the old content or the new, and nothing between.
func TestReadersSeeWholeFiles(t *testing.T) {
	notOnWine(t, "a file that somebody has open cannot be replaced, whatever is shared")
	t.Parallel()
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{Durability: lockfile.FlushNever})
	write := func(i int) {
		c := i % 5
		noError(t, lock.WriteFile(state, bytes.Repeat([]byte{'a' + byte(c)}, (c+1)*50_000), 0o600))
	}
	write(0)
	readers := []*probetest.Child{
		probetest.Start(t, "reader", state),
		probetest.Start(t, "reader", state),
	}
	for _, r := range readers {
		r.Expect("reading")
	}
	for i := range fewerOnWine(200) {
		write(i)
	}
	for _, r := range readers {
		expect(t, r, "stop", "fine")
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// A state that is a symbolic link stays one: what it names is written, and the lock is beside that.
func TestStateIsALink(t *testing.T) {
	state := newState(t)
	dir := filepath.Dir(state)
	real := filepath.Join(dir, "real")
	noError(t, os.Mkdir(real, 0o700))
	target := filepath.Join(real, "target")
	noError(t, os.WriteFile(target, []byte("before"), 0o640))
	symlink(t, filepath.Join("real", "target"), state)
	lock := tryAcquire(t, state, lockfile.Options{})
	if lock.State() != target || lock.Path() != target+".lock" {
		t.Errorf("the state is %s, the lock %s", lock.State(), lock.Path())
	}
	noError(t, lock.WriteFile(state, []byte("after"), 0o600))
	if text := content(t, target); text != "after" {
		t.Errorf("the target is %q", text)
	}
	if to, err := os.Readlink(state); err != nil || to != filepath.Join("real", "target") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if _, err := lockfile.TryAcquire(target, lockfile.Options{}); !errors.Is(
		err,
		lockfile.ErrBusy,
	) {
		t.Errorf("by its real name: %v", err)
	}
	noError(t, lock.Release())
	noLeftovers(t, target)
	noLeftovers(t, state)
}

// A lock lets its holder write other files too, fenced as the state is.
func TestWriteAnotherFile(t *testing.T) {
	state := newState(t)
	other := filepath.Join(filepath.Dir(state), "other.json")
	child := startActor(t, state)
	id, _, _ := tenureOf(t, child.Ask("acquire"))
	expect(t, child, "write-other "+other, "ok")
	noError(t, breakAnyway(state, id))
	noError(t, os.Remove(other))
	expect(t, child, "write-other "+other, "fenced")
	if _, err := os.Stat(other); err == nil {
		t.Error("written after the loss")
	}
	noLeftovers(t, other)
}

func init() {
	verbs["write-other"] = func(s *script, path string) string {
		return said(s.lock.WriteFile(path, []byte("other"), 0o600))
	}
}

// What cannot be written says so, and stays.
func TestWriteRefused(t *testing.T) {
	state := newState(t)
	dir := filepath.Dir(state)
	lock := tryAcquire(t, state, lockfile.Options{})
	noError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	for path, parts := range map[string][]string{
		"folder":                 {"not a regular file", "directory"},
		"missing/file":           {"create the directory first"},
		strings.Repeat("n", 250): {"name too long"},
		"state/file":             {"write"},
	} {
		path = filepath.Join(dir, path)
		_, err := lock.WriteFrom(path, io.LimitReader(nil, 0), 0o600)
		if e, ok := errors.AsType[*lockfile.Error](err); !ok || e.Step == "" {
			t.Errorf("%s: %T: %v", path, err, err)
		}
		wantText(t, err.Error(), append(parts, path)...)
	}
	noError(t, lock.Check())
	noError(t, lock.Release())
	noLeftovers(t, state)
}
