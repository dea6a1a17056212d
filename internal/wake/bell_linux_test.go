package wake

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen has a Bell listen to a new file that this process has open for writing.
func listen(t *testing.T, pid int) (*Bell, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "record"))
	noError(t, err)
	t.Cleanup(func() { f.Close() })
	b := Listen()
	if b == nil {
		t.Fatal("no bell")
	}
	t.Cleanup(b.Close)
	if file, process := b.Watch(targetOf(f, pid)); !file || process != (pid > 0) {
		t.Fatal("not watched", file, process)
	}
	return b, f
}

func targetOf(f *os.File, pid int) Target {
	return Target{Dir: filepath.Dir(f.Name()), Name: "record", Handle: f.Fd(), PID: pid}
}

func says(t *testing.T, b *Bell, want Woken) {
	t.Helper()
	limit := longest
	if want == TimeIsUp {
		limit = time.Millisecond
	}
	if got := b.Wait(t.Context(), limit); got != want {
		t.Fatalf("woken: %d, want %d", got, want)
	}
}

func TestBellRings(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"removed": func(f *os.File) error { return os.Remove(f.Name()) },
		"renamed": func(f *os.File) error { return os.Rename(f.Name(), f.Name()+".aside") },
		"written": func(f *os.File) error { _, err := f.WriteAt([]byte("x"), 0); return err },
		"closed":  func(f *os.File) error { return f.Close() },
		"exchanged": func(f *os.File) error {
			return unix.Renameat2(unix.AT_FDCWD, other(t, f), unix.AT_FDCWD, f.Name(),
				unix.RENAME_EXCHANGE)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, f := listen(t, 0)
			other(t, f) // a neighbour is nobody's concern
			says(t, b, TimeIsUp)
			noError(t, change(f))
			says(t, b, Rung)
			says(t, b, Rung) // until it is forgotten
			b.Forget()
			says(t, b, TimeIsUp)
		})
	}
}

// A file that is gone has nothing to tell any more, and nobody waits for it; the next one has.
func TestBellGoesOn(t *testing.T) {
	b, f := listen(t, 0)
	noError(t, os.Remove(f.Name()))
	noError(t, f.Close())
	says(t, b, Rung)
	b.Forget()
	if b.Watches() {
		t.Error("what is gone is watched")
	}
	says(t, b, Rung)
	next, err := os.Create(f.Name())
	noError(t, err)
	defer next.Close()
	_, _ = b.Watch(targetOf(next, 0))
	says(t, b, TimeIsUp) // of the last file nothing is left
	noError(t, os.Remove(f.Name()))
	says(t, b, Rung)
}

func TestBellHearsAnEnd(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	noError(t, err)
	noError(t, cmd.Start())
	b, f := listen(t, cmd.Process.Pid)
	says(t, b, TimeIsUp)
	stdin.Close()
	says(t, b, Ended)
	says(t, b, TimeIsUp) // once
	noError(t, cmd.Wait())
	if _, process := b.Watch(targetOf(f, cmd.Process.Pid)); process {
		says(t, b, Ended) // it was gone before
	}
	says(t, b, TimeIsUp)
}

// The end of a context ends a wait whenever it comes: before, at its begin, or in it. The bell can
// be used again.
func TestBellEndsWithContext(t *testing.T) {
	b, f := listen(t, 0)
	for i := range 200 {
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range i % 20 {
				runtime.Gosched()
			}
			cancel(errors.New("enough"))
		}()
		for b.Wait(ctx, longest) != TimeIsUp && ctx.Err() == nil {
			t.Fatal("woken for nothing")
		}
		if ctx.Err() == nil {
			t.Fatal("the time was up before the context ended")
		}
		<-over
		if file, _ := b.Watch(targetOf(f, 0)); !file {
			t.Fatal("not watched again")
		}
		noError(t, f.Chmod(0o600))
		says(t, b, Rung)
		if file, _ := b.Watch(targetOf(f, 0)); !file {
			t.Fatal("not watched again")
		}
	}
}

// There are a few bells; those who use them no longer leave nothing behind.
func TestBellsAreFew(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		noError(t, err)
		return len(entries)
	}
	end := time.Now().Add(longest)
	var all []*Bell
	for len(all) < mostBells { // those of other tests may be closing
		if b := Listen(); b != nil {
			all = append(all, b)
		} else if time.Now().After(end) {
			t.Fatalf("%d bells", len(all))
		}
		runtime.Gosched()
	}
	if Listen() != nil {
		t.Errorf("more than %d bells", mostBells)
	}
	most := files()
	for _, b := range all {
		b.Close()
	}
	open := func() int {
		bells.Lock()
		defer bells.Unlock()
		return bells.open
	}
	for open() > 0 || files() > most-len(all) { // the next test may want one
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, of %d with %d bells; %d bells", files(), most, len(all), open())
		}
		runtime.Gosched()
	}
}
