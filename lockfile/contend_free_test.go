package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// Goroutines of this process and other processes want one free lock. (I1)
func TestContendersOnAFreeLock(t *testing.T) {
	t.Parallel()
	const turns, goroutines = 10, 4
	state := newState(t)
	others := startContenders(t, 4, state)
	crit := filepath.Join(filepath.Dir(state), "crit")
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range turns {
				if said := oneTurn(state, crit, lockfile.Options{}); said != "0 free" {
					t.Error(said)
				}
			}
		})
	}
	for range turns {
		for _, child := range others.children {
			child.Send("go")
		}
		for _, child := range others.children {
			child.Expect("0 free")
		}
	}
	wg.Wait()
	want := turns * (goroutines + len(others.children))
	if n, err := number(state); err != nil || n != want {
		t.Errorf("the number is %d after %d updates, %v", n, want, err)
	}
	if now := counterOf(t, state); now != 0 {
		t.Errorf("the fence is %d, nobody was overtaken", now)
	}
	noLeftovers(t, state)
}

// A process that holds a lock is refused it a second time, whatever it calls the state, and without
// a deadlock: exclusion inside a process comes from the same files as between processes.
func TestOneProcessManySpellings(t *testing.T) {
	state := newState(t)
	dir, base := filepath.Split(state)
	noError(t, os.WriteFile(state, nil, 0o600))
	noError(t, os.Mkdir(dir+"sub", 0o700))
	paths := []string{state, base, "./" + base, "sub/../" + base, dir + "./" + base,
		dir + "sub/../" + base}
	links := map[string]string{"dirlink": ".", "link": base, "sub/absolute": state}
	for link, to := range links {
		_ = os.Symlink(to, dir+link)
	}
	last := base
	if _, err := os.Lstat(dir + "link"); err == nil { // Wine only says that it makes links
		last = "link"
		paths = append(paths, "dirlink/"+base, dir+"dirlink/dirlink/"+base, "link", dir+"link",
			"sub/absolute")
	}
	if runtime.GOOS == "windows" {
		paths = append(paths, strings.ToUpper(base), strings.ToUpper(state), `\\?\`+state,
			filepath.ToSlash(state))
	}
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	t.Chdir(dir)
	for _, path := range paths {
		_, err := lockfile.TryAcquire(path, lockfile.Options{})
		busy, ok := errors.AsType[*lockfile.BusyError](err)
		if !ok || busy.LockID != lock.ID() || busy.Verdict != identity.Alive {
			t.Errorf("%s: %v", path, err)
		}
		_ = inVain(t, lockfile.ErrBusy, func(ctx context.Context) error {
			_, err := lockfile.Acquire(ctx, path, lockfile.Options{})
			return err
		})
	}
	wantText(t, strings.Join(inspect(t, state).Notes, "\n"), "this process holds the lock itself")
	noError(t, lock.Check())
	noError(t, lock.Release())
	lock, err = lockfile.TryAcquire(last, lockfile.Options{})
	noError(t, err)
	if lock.State() != state {
		t.Errorf("the state is %s, want %s", lock.State(), state)
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

func inspect(t probetest.TB, state string) lockfile.Inspection {
	t.Helper()
	var in lockfile.Inspection
	unforked(func() {
		var err error
		in, err = lockfile.Inspect(state, lockfile.Options{})
		noError(t, err)
	})
	return in
}

// One holds, one waits, the first releases, and a third comes in between: the record is another
// file each time, and no two of them are ever inside together. (B42)
func TestWaiterAndNewcomer(t *testing.T) {
	t.Parallel()
	rounds := fewerOnWine(60)
	if testing.Short() {
		rounds = 10
	}
	state := newState(t)
	c := startContenders(t, 2, state)
	crit := filepath.Join(filepath.Dir(state), "crit")
	for round := range rounds {
		lock, err := lockfile.Acquire(context.Background(), state, lockfile.Options{})
		noError(t, err)
		leave, err := enter(crit)
		noError(t, err)
		c.children[0].Send("go")
		if round%2 == 0 {
			c.children[1].Send("go")
		}
		leave()
		noError(t, lock.Release())
		if round%2 == 1 {
			c.children[1].Send("go")
		}
		for i, child := range c.children {
			if said := child.Line(); said != "0 free" {
				t.Fatalf("round %d, contender %d: %s", round, i, said)
			}
		}
	}
	if n, err := number(state); err != nil || n != 2*rounds {
		t.Errorf("the number is %d after %d updates, %v", n, 2*rounds, err)
	}
	noLeftovers(t, state)
}

// Who gave a lock back last tries for it without a look, and sees all the same who has it by then,
// whatever stands there. Nothing is left behind by the try.
func TestAgain(t *testing.T) {
	state := newState(t)
	again := func() (*lockfile.Lock, error) {
		return lockfile.TryAcquire(state, lockfile.Options{})
	}
	for _, stands := range []string{"nothing", "a living owner", "somebody's folder", "nothing"} {
		lock, err := again()
		noError(t, err)
		noError(t, lock.Release())
		var free func()
		switch stands {
		case "nothing":
			continue
		case "a living owner":
			owner := startActor(t, state)
			tenureOf(t, owner.Ask("acquire"))
			free = func() { owner.Ask("release") }
		default:
			noError(t, os.Mkdir(state+".lock", 0o700))
			free = func() { noError(t, os.Remove(state+".lock")) }
		}
		_, err = again()
		busy, ok := errors.AsType[*lockfile.BusyError](err)
		if !ok || (busy.Verdict == identity.Alive) != (stands == "a living owner") {
			t.Errorf("%s: %v", stands, err)
		}
		free()
		noLeftovers(t, state)
	}
}
