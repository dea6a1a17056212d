package statefile_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/statefile"
)

// Invariants of every crash: what was acknowledged is there; at most the one update under way is
// there besides; both versions are whole, and the previous one misses one at most;
// the next writer gets in without waiting for time to pass, and without a person; the number of
// files is bounded.

func afterCrash(t *testing.T, f *statefile.File[counter], acknowledged int) {
	t.Helper()
	c, err := f.Load()
	switch {
	case acknowledged == 0 && errors.Is(err, os.ErrNotExist):
	case acknowledged == 0 && c.N == 1 && err == nil:
	case err != nil || c.N != c.Twice || c.N < acknowledged || c.N > acknowledged+1:
		t.Fatalf("after %d acknowledged updates: %+v, %v", acknowledged, c, err)
	}
	if p, err := f.LoadPrevious(); err == nil && (p.N != p.Twice || p.N > c.N || p.N < c.N-2) {
		t.Fatalf("previous of %+v is %+v", c, p)
	} else if err != nil && c.N > 2 { // between 1 and 2 the old one has no name for a moment
		t.Fatalf("previous of %+v: %v", c, err)
	}
	now, err := f.TryUpdate(increment)
	if err != nil || now.N != c.N+1 {
		t.Fatalf("the next update: %+v, %v; want %d", now, err, c.N+1)
	}
	stands(t, f, c.N+1, max(c.N, 0)-boolInt(c.N == 0))
	entries, err := os.ReadDir(filepath.Dir(f.Path()))
	noError(t, err)
	for _, e := range entries {
		rest := strings.TrimPrefix(e.Name(), filepath.Base(f.Path()))
		switch rest {
		case "", ".previous", ".fence", ".recovery.log":
		default:
			if !strings.HasPrefix(rest, ".recovered-") {
				t.Errorf("%s is left behind", e.Name())
			}
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A writer is killed before each of its steps, one after another.
func TestKilledAtEveryStep(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("processes can be killed at chosen steps on Linux only, amd64 and arm64")
	}
	for _, before := range []int{0, 1, 3} { // versions that are there already
		for n := 1; ; n++ {
			if n > 200 {
				t.Fatal("the writer does not come to an end")
			}
			f := newFile(t)
			for range before {
				_, err := f.Update(always, increment)
				noError(t, err)
			}
			child := probetest.Start(t, "writer", f.Path())
			child.Send("kill-at " + strconv.Itoa(n))
			child.Expect("ok")
			child.Send("add 1")
			line, alive := child.Next()
			child.Kill()
			if alive {
				if line != "ok" {
					t.Fatalf("step %d: %s", n, line)
				}
				stands(t, f, before+1, max(before, 0)-boolInt(before == 0))
				t.Logf("with %d versions an update has %d steps", before, n-1)
				break
			}
			afterCrash(t, f, before)
		}
	}
}

// Writers are killed somewhere while several are at it.
func TestKilledWhileOthersWrite(t *testing.T) {
	f := newFile(t)
	var steady []*probetest.Child
	for range 2 {
		c := probetest.Start(t, "writer", f.Path())
		c.Send("add 60")
		steady = append(steady, c)
	}
	acknowledged := 0
	for range 12 {
		victim := probetest.Start(t, "writer", f.Path())
		victim.Send("loop")
		last := 0
		for range 1 + rand.IntN(5) {
			n, err := strconv.Atoi(victim.Line())
			noError(t, err)
			if n <= last {
				t.Fatalf("%d came after %d", n, last)
			}
			last = n
			acknowledged++
		}
		victim.Kill()
	}
	for _, c := range steady {
		for range 60 {
			c.Expect("ok")
		}
		acknowledged += 60
	}
	// Each victim may have written more than the parent has read of it.
	c, err := f.Load()
	if err != nil || c.N < acknowledged || c.N != c.Twice {
		t.Errorf("%+v, %v; %d updates were acknowledged", c, err, acknowledged)
	}
	afterCrash(t, f, c.N)
}

// A peer in another language that dies between creating its lock and writing it leaves an empty
// one. It must not be an outage.
func TestEmptyLock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("an empty lock is provably an orphan on Linux only")
	}
	f := newFile(t)
	noError(t, f.Save(always, counter{}.plus(1)))
	noError(t, os.WriteFile(f.Path()+".lock", nil, 0o600))
	_, err := f.TryUpdate(increment)
	noError(t, err)
	stands(t, f, 2, 1)
}

// A disk that cannot flush or is full makes the update fail, and changes nothing: what is
// acknowledged was flushed.
func TestFailingDisk(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("system calls can be made to fail on Linux only, amd64 and arm64")
	}
	for _, c := range []struct {
		kind  string
		errno syscall.Errno
	}{{"flush", syscall.EIO}, {"write", syscall.ENOSPC}, {"rename", syscall.EIO}} {
		f := newFile(t)
		noError(t, f.Save(always, counter{}.plus(1)))
		noError(t, f.Save(always, counter{}.plus(2)))
		child := probetest.Start(t, "writer", f.Path())
		child.Send(fmt.Sprintf("fail %s %d", c.kind, c.errno))
		child.Expect("ok")
		child.Send("add 1")
		if line := child.Line(); !strings.Contains(line, c.errno.Error()) {
			t.Errorf("%s: %s", c.kind, line)
		}
		stands(t, f, 2, 1)
		child.Kill()
		afterCrash(t, f, 2)
	}
}

// Whatever happens, a reader sees the whole of one version, and never an older one after a newer.
func TestReadersSeeWholeVersions(t *testing.T) {
	f := newFile(t)
	fill := strings.Repeat("x", 100_000)
	write := func(c counter) (counter, error) { c.Fill = fill; return c.plus(1), nil }
	_, err := f.Update(always, write)
	noError(t, err)
	child := probetest.Start(t, "writer", f.Path())
	child.Send("add 40")
	done := make(chan error)
	go func() {
		defer close(done)
		for range 40 {
			if _, err := f.Update(always, write); err != nil {
				done <- err
			}
		}
	}()
	for last, open := 0, true; open; {
		c, err := f.Load()
		if err != nil || c.N != c.Twice || len(c.Fill) != len(fill) || c.N < last {
			t.Fatalf("%d, %d, %d bytes, %v after %d", c.N, c.Twice, len(c.Fill), err, last)
		}
		last = c.N
		select {
		case err, open = <-done:
			noError(t, err)
		default:
		}
	}
	for range 40 {
		child.Expect("ok")
	}
	if c, err := f.Load(); err != nil || c.N != 81 {
		t.Errorf("%d, %v", c.N, err)
	}
}
