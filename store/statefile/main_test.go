package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/statefile"
)

func TestMain(m *testing.M) { probetest.Run(m) }

// counter is the value of most tests. Twice repeats N: a version that was put together from two
// others would show.
type counter struct {
	N     int    `json:"n"`
	Fill  string `json:"fill,omitempty"`
	Twice int    `json:"twice"`
}

func (c counter) plus(n int) counter {
	c.N += n
	c.Twice = c.N
	return c
}

func increment(c counter) (counter, error) { return c.plus(1), nil }

var always = context.Background()

func newFile(t testing.TB) *statefile.File[counter] {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noError(t, err)
	return statefile.Open[counter](filepath.Join(dir, "state.json"), statefile.Options{})
}

func init() {
	probetest.Register("writer", writer)
}

// writer is a process that does what it is told with the file of its first argument, a line of
// answer for each line:
//
//	add N         N updates, "ok" after each
//	hold          an update that says "inside", and goes on at the next line: then the outcome
//	loop          updates until it is killed, and says each number that was returned
//	kill-at N     is killed before step N from now on
//	fail KIND N   lets calls of a kind fail with errno N
//	save N        the outcome
func writer(p *probetest.Peer) {
	file := statefile.Open[counter](p.Arg(0), statefile.Options{})
	for {
		verb, rest, _ := strings.Cut(p.Line(), " ")
		switch verb {
		case "add":
			n, err := strconv.Atoi(rest)
			p.Check(err)
			for range n {
				_, err := file.Update(always, increment)
				p.Send(outcome(err))
			}
		case "hold":
			_, err := file.Update(always, func(c counter) (counter, error) {
				p.Send("inside")
				p.Line()
				return c.plus(1), nil
			})
			p.Send(outcome(err))
		case "loop":
			for {
				c, err := file.Update(always, increment)
				p.Check(err)
				p.Send(fmt.Sprint(c.N))
			}
		case "kill-at":
			n, err := strconv.Atoi(rest)
			p.Check(err)
			_, err = crashtest.KillAt(n)
			p.Check(err)
			p.Send("ok")
		case "fail":
			kind, number, _ := strings.Cut(rest, " ")
			errno, err := strconv.Atoi(number)
			p.Check(err)
			p.Check(crashtest.Fail(kind, syscall.Errno(errno)))
			p.Send("ok")
		case "save":
			n, err := strconv.Atoi(rest)
			p.Check(err)
			p.Send(outcome(file.Save(always, counter{}.plus(n))))
		}
	}
}

// outcome names the errors that tests look for.
func outcome(err error) string {
	for name, sentinel := range map[string]error{"contended": statefile.ErrContended,
		"busy": statefile.ErrBusy, "unsure": statefile.ErrUnsure,
		"corrupt": statefile.ErrCorrupt, "reentrant": statefile.ErrReentrant} {
		if errors.Is(err, sentinel) {
			return name
		}
	}
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, statefile.ErrFenced):
		return "fenced"
	case errors.Is(err, statefile.ErrLost):
		return "lost"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants checks that an error is of its kind and says where, at which step, and what next.
func wants(t testing.TB, err, want error) *statefile.Error {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
	e, ok := errors.AsType[*statefile.Error](err)
	if !ok {
		t.Fatalf("%v is a %T, want a *statefile.Error", err, err)
	}
	if e.Op == "" || e.Path == "" || e.Step == "" || e.Next == "" {
		t.Errorf("%#v leaves something out", e)
	}
	for _, word := range []string{e.Op, e.Path, e.Step, e.Next} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	return e
}

// stands checks the newest and the previous version; -1 for none.
func stands(t testing.TB, f *statefile.File[counter], newest, previous int) {
	t.Helper()
	check := func(what string, load func() (counter, error), want int) {
		t.Helper()
		c, err := load()
		switch {
		case want < 0 && errors.Is(err, os.ErrNotExist):
		case err != nil:
			t.Errorf("%s version: %v, want %d", what, err, want)
		case c.N != want || c.Twice != want:
			t.Errorf("%s version is %+v, want %d", what, c, want)
		}
	}
	check("newest", f.Load, newest)
	check("previous", f.LoadPrevious, previous)
}

// free checks that nobody holds the lock.
func free(t testing.TB, path string) {
	t.Helper()
	in, err := lockfile.Inspect(path, lockfile.Options{})
	noError(t, err)
	if in.Format != "" {
		t.Errorf("the lock is not free: %v", in.Finding)
	}
}

// breakLock takes the lock away from whoever holds it.
func breakLock(t testing.TB, path string) {
	t.Helper()
	in, err := lockfile.Inspect(path, lockfile.Options{})
	noError(t, err)
	_, err = lockfile.Break(always, path, lockfile.BreakRequest{LockID: in.LockID, Reason: "test",
		EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
}

// symlink makes a symbolic link. It returns false where there are none, or only said to be (Wine).
func symlink(target, link string) bool {
	if err := os.Symlink(target, link); err != nil {
		return false
	}
	info, err := os.Lstat(link)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
