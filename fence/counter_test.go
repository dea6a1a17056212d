package fence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// newCounter is a counter in a new directory, with the whole path of its file.
func newCounter(t testing.TB, opts Options) (*Counter, string) {
	t.Helper()
	return counterIn(t, t.TempDir(), opts)
}

func counterIn(t testing.TB, path string, opts Options) (*Counter, string) {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	check(t, err)
	dir, err := vfs.OS().OpenDir(path)
	check(t, err)
	t.Cleanup(func() { dir.Close() })
	if opts.UID == 0 && opts.GID == 0 {
		opts.UID, opts.GID = -1, -1
	}
	return New(dir, "S.fence", opts), filepath.Join(path, "S.fence")
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got %v, want %v", err, target)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return string(b)
}

// up takes the gate, raises by one, and returns the number.
func up(c *Counter) (Token, error) {
	g, err := c.Hold(context.Background())
	if err != nil {
		return 0, err
	}
	now, err := g.Current()
	if err == nil {
		now++
		err = g.Raise(now)
	}
	return now, errors.Join(err, g.Release())
}

// held takes the gate, reads the number, and lets it go.
func held(c *Counter) (Token, error) {
	g, err := c.TryHold()
	if err != nil {
		return 0, err
	}
	now, err := g.Current()
	return now, errors.Join(err, g.Release())
}

func only(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestNewFile(t *testing.T) {
	c, path := newCounter(t, Options{Mode: 0o640})
	if now, err := c.Current(); now != 0 || err != nil {
		t.Fatalf("Current of a missing counter: %d, %v", now, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("looking created it: %v", err)
	}
	now, err := held(c)
	if now != 0 || err != nil {
		t.Fatalf("%d, %v", now, err)
	}
	if got := read(t, path); got != "00000000000000000000\n" {
		t.Fatalf("a new file says %q", got)
	}
	if info, err := os.Stat(path); err != nil || os.PathSeparator == '/' && info.Mode() != 0o640 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	now, err = up(c)
	if now != 1 || err != nil || read(t, path) != "00000000000000000001\n" {
		t.Fatalf("%d, %v, %q", now, err, read(t, path))
	}
	only(t, path)
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "gone", "S.fence")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	for _, path := range []string{"", ".", dir + "/"} {
		if _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), "fence: open ") {
			t.Errorf("Open(%q): %v", path, err)
		}
	}
	t.Chdir(dir)
	c, err := Open("S.fence")
	check(t, err)
	if !filepath.IsAbs(c.Path()) {
		t.Errorf("Path is %q", c.Path())
	}
	t.Chdir("..") // a counter stays where it was opened
	_, err = up(c)
	check(t, err)
	if got := read(t, filepath.Join(dir, "S.fence")); got != "00000000000000000001\n" {
		t.Errorf("%q", got)
	}
}

// The plain form, as other programs write it, is read, and written wide by the next raise.
func TestPlainForm(t *testing.T) {
	_, path := newCounter(t, Options{})
	for content, n := range decodable {
		if n == Max {
			continue
		}
		check(t, os.WriteFile(path, []byte(content), 0o600))
		fresh, _ := counterIn(t, filepath.Dir(path), Options{})
		if now, err := fresh.Current(); now != n || err != nil {
			t.Fatalf("%q: Current %d, %v", content, now, err)
		}
		if now, err := held(fresh); now != n || err != nil || read(t, path) != content {
			t.Fatalf("%q: held %d, %v, now %q", content, now, err, read(t, path))
		}
		if now, err := up(fresh); now != n+1 || err != nil || read(t, path) != string(encode(n+1)) {
			t.Fatalf("%q: raised to %d, %v, now %q", content, now, err, read(t, path))
		}
	}
}

func TestGarbage(t *testing.T) {
	for name, content := range garbage {
		t.Run(name, func(t *testing.T) {
			// Without a source nothing is made up, and nothing changed.
			c, path := newCounter(t, Options{})
			check(t, os.WriteFile(path, []byte(content), 0o600))
			_, err := c.Current()
			want(t, err, ErrDamaged)
			_, err = c.TryHold()
			want(t, err, ErrDamaged)
			if !strings.Contains(err.Error(), path) {
				t.Errorf("an error without the path: %v", err)
			}
			err = c.Guard(context.Background(), 0, func() error { t.Error("ran"); return nil })
			want(t, err, ErrDamaged)
			if got := read(t, path); got != content {
				t.Fatalf("changed to %q", got)
			}
			// With a source the next one at the gate repairs it, and looking alone does not.
			var told []string
			c, _ = counterIn(t, filepath.Dir(path), Options{
				Floor:    func() (Token, error) { return 41, nil },
				Repaired: func(was string, now Token) { told = append(told, fmt.Sprint(was, " ", now)) },
			})
			_, err = c.Current()
			want(t, err, ErrDamaged)
			if got := read(t, path); got != content {
				t.Fatalf("changed by looking to %q", got)
			}
			if now, err := held(c); now != 41 || err != nil {
				t.Fatalf("held: %d, %v", now, err)
			}
			if got := read(t, path); got != string(encode(41)) {
				t.Fatalf("repaired to %q", got)
			}
			if len(told) != 1 || !strings.HasSuffix(told[0], " 41") {
				t.Fatalf("told %q", told)
			}
			if now, err := up(c); now != 42 || err != nil {
				t.Fatalf("up: %d, %v", now, err)
			}
			if len(told) != 1 {
				t.Fatalf("told %q", told)
			}
			only(t, path)
		})
	}
}

// A repair never goes below what this Counter has seen, whatever the floor says; and a floor that
// cannot be found repairs nothing.
func TestRepairFloor(t *testing.T) {
	floor, floorErr := Token(3), error(nil)
	c, path := newCounter(t, Options{Floor: func() (Token, error) { return floor, floorErr }})
	for range 10 {
		_, err := up(c)
		check(t, err)
	}
	const reached = 13 // created from the floor
	for _, content := range []string{"", "5\n", "garbage"} {
		check(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := c.Current()
		want(t, err, ErrDamaged)
		if now, err := held(c); now != reached || err != nil {
			t.Fatalf("after %q: %d, %v", content, now, err)
		}
	}
	check(t, os.Remove(path))
	if now, err := c.Current(); now != reached || err != nil {
		t.Fatalf("deleted: %d, %v", now, err)
	}
	if now, err := up(c); now != reached+1 || err != nil {
		t.Fatalf("deleted: %d, %v", now, err)
	}
	floorErr = errors.New("the log cannot be read")
	for _, spoil := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, []byte("x"), 0o600) },
	} {
		check(t, spoil())
		_, err := held(c)
		want(t, err, floorErr)
	}
	if got := read(t, path); got != "x" {
		t.Fatalf("changed to %q", got)
	}
	floorErr, floor = nil, Max+1
	_, err := held(c)
	want(t, err, ErrTooLarge)
}

// Without a source, what went back is damaged: the true number is not known.
func TestWentBack(t *testing.T) {
	c, path := newCounter(t, Options{})
	for range 3 {
		_, err := up(c)
		check(t, err)
	}
	check(t, os.WriteFile(path, encode(1), 0o600))
	_, err := c.Current()
	want(t, err, ErrDamaged)
	_, err = c.TryHold()
	want(t, err, ErrDamaged)
	if !strings.Contains(err.Error(), "from 3 to 1") {
		t.Errorf("%v", err)
	}
	check(t, os.Remove(path)) // deleted, it goes on where this Counter was
	if now, err := up(c); now != 4 || err != nil {
		t.Fatalf("%d, %v", now, err)
	}
}

// The file is deleted or replaced while its gate is held: every use of the gate says so.
func TestGateLost(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", encode(7), 0o600), os.Rename(path+"2", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, path := newCounter(t, Options{})
			if runtime.GOOS == "windows" {
				if name == "replaced" {
					t.Skip("os.Rename does not replace a file that is open here")
				}
				notOnWine(t, "a removed file that is open keeps its name")
				check(t, os.WriteFile(path, encode(0), 0o600)) // who makes one keeps it
			}
			g, err := c.TryHold()
			check(t, err)
			check(t, spoil(path))
			_, err = g.Current()
			want(t, err, ErrGateLost)
			want(t, g.Raise(9), ErrGateLost)
			check(t, g.Release())
			check(t, os.WriteFile(path, encode(3), 0o600))
			ran := false
			err = c.Guard(context.Background(), 3, func() error { ran = true; return spoil(path) })
			if !ran {
				t.Fatal("Guard did not run")
			}
			want(t, err, ErrGateLost)
		})
	}
}

func TestBusy(t *testing.T) {
	c, path := newCounter(t, Options{})
	g, err := c.TryHold()
	check(t, err)
	_, err = c.TryHold()
	want(t, err, ErrGateBusy)
	if got := err.Error(); got != "fence: lock "+path+": somebody else holds the gate" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("tired")
	c.opts.Pause = func(context.Context, time.Duration) error { cancel(cause); return nil }
	_, err = c.Hold(ctx)
	want(t, err, cause)
	want(t, err, context.Canceled)
	want(t, err, ErrGateBusy)
	if got := err.Error(); got !=
		"fence: wait for the gate of "+path+": somebody else holds the gate: tired" {
		t.Errorf("%q", got)
	}
	check(t, g.Release())
	want(t, g.Release(), ErrReleased)
}

// Reading without the gate never meets two halves of two numbers: the numbers that change most
// digits at once are the ones to try.
func TestCurrentBesideRaise(t *testing.T) {
	c, path := newCounter(t, Options{})
	check(t, os.WriteFile(path, []byte("9998\n"), 0o600))
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			reader, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			last := Token(0)
			for !done.Load() {
				now, err := reader.Current()
				if err != nil || now < last {
					t.Errorf("%d after %d, %v", now, last, err)
					return
				}
				last = now
			}
		})
	}
	for n := Token(9999); n < Max; n = n*10 + 9 {
		for _, to := range []Token{n, n + 1} {
			g, err := c.Hold(context.Background())
			check(t, err)
			check(t, g.Raise(to))
			check(t, g.Release())
		}
	}
	done.Store(true)
	wg.Wait()
}
