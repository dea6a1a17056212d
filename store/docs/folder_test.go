package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/lockfiletest"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/docs"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
)

func init() {
	// adder adds one to a document, as often as it is told to, and says each version.
	probetest.Register("adder", func(p *probetest.Peer) {
		f, err := docs.OpenFolder(p.Arg(0), docs.FolderOptions{})
		p.Check(err)
		n, err := strconv.Atoi(p.Arg(1))
		p.Check(err)
		for range n {
			d, err := docs.Update(always, f, "n", add)
			p.Check(err)
			p.Send(fmt.Sprint(uint64(d.Version)))
		}
		p.Send("done")
		p.Wait()
	})
	// holder stops in the midst of a write: with the lock held, and before it looks again.
	probetest.Register("holder", func(p *probetest.Peer) {
		f, err := docs.OpenFolder(p.Arg(0), docs.FolderOptions{Lock: lockfile.Options{
			OnRecovered: func(lockfile.Recovered) {
				p.Send("inside")
				p.Line()
			}}})
		p.Check(err)
		_, err = f.CompareAndSwap(always, "a", 1, json.RawMessage(`"late"`))
		switch {
		case err == nil:
			p.Send("ok")
		case errors.Is(err, docs.ErrFenced):
			p.Send("fenced")
		case errors.Is(err, docs.ErrConflict):
			p.Send("conflict")
		default:
			p.Send(strconv.Quote(err.Error()))
		}
	})
}

func add(old docs.Document) (json.RawMessage, error) {
	n := 0
	if old.Version != docs.Absent {
		if err := json.Unmarshal(old.Value, &n); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(strconv.Itoa(n + 1)), nil
}

// Processes that are killed in the midst of it neither lose what they were told, nor keep the
// others out.
func TestFolderKilledWriters(t *testing.T) {
	f := newFolder(t)
	var steady []*probetest.Child
	times := "30"
	if testing.Short() {
		times = "10"
	}
	for range 2 {
		steady = append(steady, probetest.Start(t, "adder", f.Dir(), times))
	}
	acknowledged := 0
	for i := range 8 {
		victim := probetest.Start(t, "adder", f.Dir(), "1000000")
		last := 0
		for range 1 + i%3 {
			v, err := strconv.Atoi(victim.Line())
			noError(t, err)
			if v <= last {
				t.Errorf("%d came after %d", v, last)
			}
			last = v
			acknowledged++
		}
		victim.Kill()
	}
	for _, c := range steady {
		for line := c.Line(); line != "done"; line = c.Line() {
			acknowledged++
		}
	}
	d, err := f.Load(always, "n")
	noError(t, err)
	if n, err := strconv.Atoi(string(d.Value)); err != nil || n < acknowledged ||
		uint64(d.Version) != uint64(n) {
		t.Errorf("%v: %s after %d acknowledged writes", d.Version, d.Value, acknowledged)
	}
	_, err = f.CompareAndSwap(always, "n", d.Version, []byte("0"))
	noError(t, err)
}

// A guard that a crash left is no conflict, neither once nor for ever.
func TestFolderAbandonedGuard(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	lockfiletest.Abandoned(t, f.Path("a"))
	v, err := f.CompareAndSwap(always, "a", 1, []byte("2"))
	if err != nil || v != 2 {
		t.Errorf("%v, %v", v, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	noError(
		t,
		os.WriteFile(f.Path("a")+".lock", nil, 0o600),
	) // as a peer that died too early leaves it
	v, err = f.CompareAndSwap(always, "a", 2, []byte("3"))
	if err != nil || v != 3 {
		t.Errorf("%v, %v", v, err)
	}
}

// Who holds the guard and lives is waited for; whom nobody can judge is another matter.
func TestFolderRefused(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	other := lockfiletest.Held(t, f.Path("a"))
	own := errors.New("enough")
	ctx, impatient := givesUp(t, f.Dir(), own)
	_, err = impatient.CompareAndSwap(ctx, "a", 1, []byte("2"))
	if !errors.Is(err, docs.ErrContended) || !errors.Is(err, own) ||
		errors.Is(err, docs.ErrConflict) {
		t.Errorf("beside a living writer: %v", err)
	}
	_, err = f.CompareAndSwap(always, "a", 5, []byte("2")) // who is late anyway is told at once
	if !errors.Is(err, docs.ErrConflict) {
		t.Errorf("late, and beside a living writer: %v", err)
	}
	_, err = f.CompareAndSwap(always, "b", docs.Absent, []byte("1")) // others are not concerned
	noError(t, err)
	if d, err := f.Load(always, "a"); err != nil || d.Version != 1 {
		t.Errorf("%v, %v", d, err)
	}
	noError(t, other.Release())
	lockfiletest.Unknown(t, f.Path("a"))
	_, err = f.CompareAndSwap(always, "a", 1, []byte("2"))
	if !errors.Is(err, docs.ErrBusy) || errors.Is(err, docs.ErrContended) {
		t.Errorf("beside a guard that nobody can judge: %v", err)
	}
}

// A writer that is overtaken between taking the lock and writing changes nothing.
func TestFolderOvertaken(t *testing.T) {
	f := newFolder(t)
	_, err := f.CompareAndSwap(always, "a", docs.Absent, []byte("1"))
	noError(t, err)
	lockfiletest.Abandoned(t, f.Path("a")) // so that its hook is called
	child := probetest.Start(t, "holder", f.Dir())
	child.Expect("inside")
	in, err := lockfile.Inspect(f.Path("a"), lockfile.Options{})
	noError(t, err)
	_, err = lockfile.Break(always, f.Path("a"), lockfile.BreakRequest{LockID: in.LockID,
		Reason: "test", EvenIfAlive: true}, lockfile.Options{})
	noError(t, err)
	child.Send("go") // the version is still the one that it expects
	child.Expect("fenced")
	if d, err := f.Load(always, "a"); err != nil || d.Version != 1 || string(d.Value) != "1" {
		t.Errorf("%v, %v", d, err)
	}
	_, err = f.CompareAndSwap(always, "a", 1, []byte("2"))
	noError(t, err)
}

// What a write does on disk does not depend on how many documents there are beside it.
func TestFolderCostDoesNotGrow(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("steps can be counted on Linux only, amd64 and arm64")
	}
	f := newFolder(t)
	const data = `{"v":1,"version":7,"value":"x","checksum":` +
		`"b56d87c6d133f5f02061fc6c32a0f2a4bdd303ca8bdbd99a5ac5370f7185888b"}`
	cost := func() string {
		child := probetest.Start(t, "counter", f.Dir())
		defer child.Close()
		return child.Line()
	}
	cost() // makes the fence
	few := cost()
	for i := range 500 {
		noError(t, os.WriteFile(f.Path(fmt.Sprint("k", i)), []byte(data), 0o600))
	}
	if many := cost(); many != few {
		t.Errorf("a write takes %s steps beside 500 documents, and %s beside none", many, few)
	}
}

func init() {
	// counter says how many steps a write has, but the first one of this process.
	probetest.Register("counter", func(p *probetest.Peer) {
		// Without the flush in the background that a tenure gets which lasts long enough.
		f, err := docs.OpenFolder(p.Arg(0), docs.FolderOptions{Lock: lockfile.Options{
			Durability: lockfile.FlushNever}})
		p.Check(err)
		_, err = docs.Update(always, f, "n", add)
		p.Check(err)
		count, err := crashtest.KillAt(-1)
		p.Check(err)
		least := 1 << 30 // who watches over the lock may look in between
		for range 20 {
			before := count()
			_, err = docs.Update(always, f, "n", add)
			p.Check(err)
			least = min(least, count()-before)
		}
		p.Send(strconv.Itoa(least))
		p.Wait()
	})
}
