//go:build !plan9

package fence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// unsupported makes the steps that match pattern fail as on a system that lacks them.
func unsupported(pattern string) func(string) error {
	re := regexp.MustCompile("^(" + pattern + ")$")
	return func(step string) error {
		if re.MatchString(step) {
			return errors.ErrUnsupported
		}
		return nil
	}
}

// Every way to create the file gives the same file, leaves nothing else, and keeps to its order:
// full, flushed, named, directory flushed.
func TestCreateEachWay(t *testing.T) {
	const named = "lock temp,write temp,flush temp,"
	for lacks, order := range map[string]string{
		"create unnamed":           named + "rename temp,fstat temp,flush dir",
		"link unnamed":             named + "rename temp,fstat temp,flush dir",
		"create unnamed|flush dir": named + "rename temp,fstat temp,flush dir",
		"create unnamed|rename temp": named + "rename temp,link temp,remove temp,fstat temp," +
			"flush dir",
		"create unnamed|(rename|link) temp": named + "rename temp,link temp," +
			"create name,lock name,write name,flush name,remove temp,fstat name,flush dir",
	} {
		t.Run(lacks, func(t *testing.T) {
			c, d, path := newFaulty(t, Options{})
			d.before = unsupported(lacks)
			if now, err := up(c); now != 1 || err != nil {
				if errors.Is(err, errors.ErrUnsupported) && os.PathSeparator != '/' {
					t.Skip(err)
				}
				t.Fatalf("%d, %v", now, err)
			}
			if got := read(t, path); got != string(encode(1)) {
				t.Fatalf("%q", got)
			}
			if all := strings.Join(d.steps, ","); !strings.Contains(all, order) {
				t.Errorf("the steps %q are not among %q", order, all)
			}
			only(t, path)
		})
	}
}

// A raise is on disk before it returns: the number each time, the name once for each Counter, as
// its creator may have died before it was.
func TestRaiseIsFlushed(t *testing.T) {
	c, d, path := newFaulty(t, Options{})
	check(t, os.WriteFile(path, encode(0), 0o600))
	for _, order := range []string{"write name,fstat name,flush name,flush dir,stat name",
		"write name,fstat name,flush name,stat name"} {
		d.steps = nil
		_, err := up(c)
		check(t, err)
		if all := strings.Join(d.steps, ","); !strings.Contains(all, order) {
			t.Errorf("the steps %q are not among %q", order, all)
		}
	}
}

// A step that fails says so, with the path and its own reason; nothing half-made has the name, and
// nothing else is left. Afterwards everything works.
func TestEveryStepFails(t *testing.T) {
	reasons := []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS}
	for _, way := range []string{"nothing", "create unnamed", "create unnamed|rename temp",
		"create unnamed|rename temp|link temp"} {
		// First find the steps.
		c, d, _ := newFaulty(t, Options{})
		d.before = unsupported(way)
		if _, err := up(c); err != nil {
			t.Skip(err)
		}
		for i, step := range d.steps {
			if strings.HasPrefix(step, "remove") {
				continue // the one step whose failure leaves something behind
			}
			for _, reason := range reasons {
				c, d, path := newFaulty(t, Options{Floor: func() (Token, error) { return 0, nil }})
				without := unsupported(way)
				count := 0
				d.before = func(s string) error {
					count++
					if count == i+1 {
						return reason
					}
					return without(s)
				}
				_, err := up(c)
				name := fmt.Sprintf("without %s, step %d (%s), %v", way, i, step, reason)
				if !errors.Is(err, reason) {
					t.Errorf("%s: got %v", name, err)
					continue
				}
				if !strings.HasPrefix(err.Error(), "fence: ") ||
					!strings.Contains(err.Error(), path) {
					t.Errorf("%s: an error without step or path: %v", name, err)
				}
				only(t, path)
				before := c.seen.Load()
				d.before = nil
				if now, err := up(c); err != nil || now <= Token(before) {
					t.Errorf("%s: afterwards %d, %v (seen %d)", name, now, err, before)
				}
				only(t, path)
			}
		}
	}
}

// A read beside a write may see some digits of one number and some of the other, or a file that is
// shorter than its write. It is read again.
func TestTornReads(t *testing.T) {
	for _, torn := range [][]string{
		{"00000000000000019999\n"},
		{"00000000000000000000\n", "00000000000000019999\n"},
		{""}, {"0"}, {"9999", "00"},
	} {
		c, d, path := newFaulty(t, Options{})
		check(t, os.WriteFile(path, encode(9999), 0o600))
		d.reads = torn
		if now, err := c.Current(); now != 9999 || err != nil || len(d.reads) != 0 {
			t.Errorf("%q: %d, %v", torn, now, err)
		}
	}
}

// What others do between two steps: they take the name first, sweep the temporary file, delete the
// file that was just made. Each ends in a counter that works.
func TestOthersBetweenSteps(t *testing.T) {
	for name, c := range map[string]struct {
		lacks, step string
		do          func(dir string) error
		want        Token
	}{
		"taken, unnamed":           {"nothing", "link unnamed", take, 8},
		"taken, rename":            {"create unnamed", "rename temp", take, 8},
		"taken, link":              {"create unnamed|rename temp", "link temp", take, 8},
		"taken, in place":          {"create unnamed|rename temp|link temp", "create name", take, 8},
		"swept before the lock":    {"create unnamed", "lock temp", sweep, 1},
		"swept before the publish": {"create unnamed", "rename temp", sweep, 1},
		"swept before the link":    {"create unnamed|rename temp", "link temp", sweep, 1},
		"deleted before the lock":  {"nothing", "lock name", forget, 1},
		"deleted before the look":  {"nothing", "stat name", forget, 1},
		"replaced before the lock": {"nothing", "lock name", replace, 8},
		"replaced before the look": {"nothing", "stat name", replace, 8},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				switch {
				case strings.HasPrefix(name, "swept"):
					t.Skip("nobody sweeps a file here that its maker has open")
				case c.step == "link unnamed":
					t.Skip("there are no files without a name here")
				case c.lacks == "nothing":
					notOnWine(t, "a removed file that is open keeps its name")
				}
			}
			counter, d, path := newFaulty(t, Options{})
			without, done := unsupported(c.lacks), false
			d.before = func(s string) error {
				if s == c.step && !done {
					done = true
					check(t, c.do(d.Path()))
				}
				return without(s)
			}
			if strings.HasSuffix(c.step, "name") && c.lacks == "nothing" {
				check(t, os.WriteFile(path, []byte("2\n"), 0o600))
			}
			if now, err := up(counter); now != c.want || err != nil {
				t.Fatalf("%d, %v; steps %q", now, err, d.steps)
			}
			if !done {
				t.Fatalf("no step %q in %q", c.step, d.steps)
			}
			only(t, path)
		})
	}
}

func take(dir string) error {
	return os.WriteFile(filepath.Join(dir, "S.fence"), []byte("7\n"), 0o600)
}

func forget(dir string) error { return os.Remove(filepath.Join(dir, "S.fence")) }

func replace(dir string) error { return errors.Join(forget(dir), take(dir)) }

func sweep(dir string) error {
	temps, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	if len(temps) != 1 {
		return fmt.Errorf("temporary files: %q", temps)
	}
	return errors.Join(err, os.Remove(temps[0]))
}

// A file that somebody always deletes or replaces ends in an error, and so does a network
// filesystem that always says ESTALE; once in a while it is looked at again.
func TestBounds(t *testing.T) {
	notOnWine(t, "a removed file that is open keeps its name")
	c, d, _ := newFaulty(t, Options{})
	d.before = func(s string) error {
		if s == "stat name" {
			return forget(d.Path())
		}
		return nil
	}
	if _, err := up(c); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Errorf("%v", err)
	}
	opened := strings.Count(strings.Join(d.steps, ","), "open name")
	if opened != attempts {
		t.Errorf("%d tries, want %d", opened, attempts)
	}
	for times, works := range map[int]bool{1: true, staleAttempts - 1: true, 1 << 30: false} {
		c, d, _ := newFaulty(t, Options{})
		left := times
		d.before = func(s string) error {
			if left > 0 && s == "open name" {
				left--
				return syscall.ESTALE
			}
			return nil
		}
		_, err := c.Current()
		if works != (err == nil) || !works && !errors.Is(err, syscall.ESTALE) {
			t.Errorf("Current after %d: %v", times, err)
		}
		left = times
		_, err = up(c)
		if works != (err == nil) || !works && !errors.Is(err, syscall.ESTALE) {
			t.Errorf("Hold after %d: %v", times, err)
		}
	}
}

// No kernel locks: refused, with the name of the file, unless the caller takes the risk; then one
// Counter still has one gate.
func TestWithoutKernelLocks(t *testing.T) {
	c, d, path := newFaulty(t, Options{})
	d.before = unsupported("lock .*")
	_, err := up(c)
	want(t, err, errors.ErrUnsupported)
	if !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	only(t, path)
	c, d, path = newFaulty(t, Options{WithoutKernelLock: true})
	d.before = unsupported("(un)?lock .*|create unnamed")
	g, err := c.TryHold()
	check(t, err)
	_, err = c.TryHold()
	want(t, err, ErrGateBusy)
	check(t, g.Raise(1))
	check(t, g.Release())
	if now, err := up(c); now != 2 || err != nil {
		t.Fatalf("%d, %v", now, err)
	}
	only(t, path)
	// A failed try gives the gate back.
	check(t, os.WriteFile(path, nil, 0o600))
	for range 2 {
		_, err = c.TryHold()
		want(t, err, ErrDamaged)
	}
}

// What is no counter for sure is left alone by repairs.
func TestRepairLeavesDataAlone(t *testing.T) {
	floor := Options{Floor: func() (Token, error) { return 5, nil }}
	c, path := newCounter(t, floor)
	victim := filepath.Join(filepath.Dir(path), "victim")
	plants := map[string]func() error{
		"hard link": func() error { return os.Link(victim, path) },
		"symlink":   func() error { return os.Symlink("victim", path) },
		"dangling":  func() error { return os.Symlink("nothing", path) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
		"FIFO":      func() error { return mkfifo(path) },
		"large": func() error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 5<<30))
		},
	}
	if runtime.GOOS == "windows" { // links are for those who may make them
		delete(plants, "symlink")
		delete(plants, "dangling")
		delete(plants, "FIFO")
	}
	for name, plant := range plants {
		check(t, os.WriteFile(victim, []byte("somebody's data"), 0o600))
		check(t, plant())
		before, err := os.Lstat(path)
		check(t, err)
		_, err = c.Current()
		want(t, err, ErrDamaged)
		_, err = c.TryHold()
		want(t, err, ErrDamaged)
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		after, err := os.Lstat(path)
		check(t, err)
		if read(t, victim) != "somebody's data" || before.Size() != after.Size() ||
			before.Mode() != after.Mode() {
			t.Errorf("%s: changed", name)
		}
		check(t, os.Remove(path))
	}
}
