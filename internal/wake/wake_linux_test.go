package wake

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// longest is how long a test waits for what must come.
const longest = 30 * time.Second

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func woken(t *testing.T, w *Watch) {
	t.Helper()
	select {
	case <-w.C:
	case <-time.After(longest):
		t.Fatal("not woken")
	}
}

func asleep(t *testing.T, w *Watch) {
	t.Helper()
	select {
	case <-w.C:
		t.Fatal("woken for nothing")
	default:
	}
}

// watchFile watches a new file that this process has open for writing.
func watchFile(t *testing.T, pid int) (*Watch, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "record"))
	noError(t, err)
	t.Cleanup(func() { f.Close() })
	w := Open(Target{Dir: filepath.Dir(f.Name()), Name: "record", Handle: f.Fd(), PID: pid})
	t.Cleanup(w.Close)
	if !w.File {
		t.Fatal("the file is not watched")
	}
	return w, f
}

func TestFileChanges(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"removed":  func(f *os.File) error { return os.Remove(f.Name()) },
		"renamed":  func(f *os.File) error { return os.Rename(f.Name(), f.Name()+".aside") },
		"written":  func(f *os.File) error { _, err := f.WriteAt([]byte("x"), 0); return err },
		"closed":   func(f *os.File) error { return f.Close() },
		"replaced": func(f *os.File) error { return os.Rename(other(t, f), f.Name()) },
		"exchanged": func(f *os.File) error {
			return unix.Renameat2(unix.AT_FDCWD, other(t, f), unix.AT_FDCWD, f.Name(),
				unix.RENAME_EXCHANGE)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := watchFile(t, 0)
			other(t, f)
			asleep(t, w)
			noError(t, change(f))
			woken(t, w)
		})
	}
}

// other makes another file beside f.
func other(t *testing.T, f *os.File) string {
	name := f.Name() + ".other"
	noError(t, os.WriteFile(name, nil, 0o600))
	return name
}

// A watch is on the file: the rest of its directory wakes nobody. What comes after an event of the
// file itself has been handed out before it.
func TestNeighboursWakeNobody(t *testing.T) {
	w, f := watchFile(t, 0)
	second := Open(Target{Dir: filepath.Dir(f.Name()), Name: "record", Handle: f.Fd()})
	defer second.Close()
	for range 100 {
		noError(t, os.Remove(other(t, f)))
	}
	asleep(t, w)
	noError(t, os.Remove(f.Name()))
	woken(t, w)
	woken(t, second)
}

func TestProcessEnds(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	noError(t, err)
	noError(t, cmd.Start())
	w, _ := watchFile(t, cmd.Process.Pid)
	if !w.Process {
		t.Fatal("the process is not watched")
	}
	asleep(t, w)
	stdin.Close()
	woken(t, w)
	noError(t, cmd.Wait())
	gone := Open(Target{PID: cmd.Process.Pid})
	defer gone.Close()
	if gone.Process {
		woken(t, gone)
	}
}

// Whoever waits and gives up leaves nothing behind: no descriptor and no goroutine.
func TestNothingIsLeft(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		noError(t, err)
		return len(entries)
	}
	w, f := watchFile(t, os.Getpid()) // the first makes the runtime open its poller
	w.Close()
	settled := func(goroutines, files int) bool {
		for end := time.Now().Add(longest); time.Now().Before(end); runtime.Gosched() {
			if runtime.NumGoroutine() <= goroutines && open() <= files {
				return true
			}
		}
		return false
	}
	goroutines, files := runtime.NumGoroutine(), open()
	for i := range 50 {
		var all []*Watch
		for range 5 {
			all = append(all, Open(Target{Handle: f.Fd(), PID: os.Getpid()}))
		}
		if i%2 == 0 {
			_, err := f.WriteAt([]byte("x"), 0)
			noError(t, err)
		}
		for _, w := range all {
			w.Close()
			w.Close()
		}
	}
	if !settled(goroutines, files) {
		t.Errorf("%d goroutines and %d descriptors, before %d and %d", runtime.NumGoroutine(),
			open(), goroutines, files)
	}
}

func TestQueueIsInOrder(t *testing.T) {
	dir := t.TempDir()
	open := func() uintptr {
		d, err := os.Open(dir)
		noError(t, err)
		t.Cleanup(func() { d.Close() })
		return d.Fd()
	}
	waiting := func(dir uintptr, name string) bool { _, is := Waiting(dir, name); return is }
	if looker := open(); waiting(looker, "S.lock") {
		t.Fatal("somebody waits in an empty queue")
	}
	var queue []*Queue
	for range 5 {
		q := Join(open(), "S.lock")
		if q == nil {
			t.Fatal("no queue")
		}
		queue = append(queue, q)
		// The next one arrives in another unit of time.
		for q.ticket == Join(open(), "another.lock").ticket {
		}
	}
	if !waiting(open(), "S.lock") || waiting(open(), "T.lock") {
		t.Error("who waits for what is mixed up")
	}
	for len(queue) > 0 {
		for i, q := range queue {
			p := q.Position()
			if p.Ahead != min(i, 2) ||
				i >= 2 && (p.First != queue[0].ticket || p.Mine != q.ticket) {
				t.Errorf("%d of %d: %+v", i, len(queue), p)
			}
		}
		queue[0].Leave()
		queue = queue[1:]
	}
	if waiting(open(), "S.lock") {
		t.Error("somebody waits where everybody left")
	}
}

// A place in the queue goes with the descriptor, whatever happens to its process.
func TestQueuePlaceDies(t *testing.T) {
	dir := t.TempDir()
	d, err := os.Open(dir)
	noError(t, err)
	Join(d.Fd(), "S.lock")
	looker, err := os.Open(dir)
	noError(t, err)
	defer looker.Close()
	if age, is := Waiting(looker.Fd(), "S.lock"); !is || age < 0 || age > time.Hour {
		t.Fatal("nobody waits")
	}
	noError(t, d.Close())
	if _, is := Waiting(looker.Fd(), "S.lock"); is {
		t.Error("somebody waits who is gone")
	}
}

// Queues of many names in one directory do not touch each other's numbers.
func TestQueueBases(t *testing.T) {
	for _, name := range []string{"", "a", "S.lock", strings.Repeat("x", 255)} {
		base := queueBase(name)
		if base < 1<<62 || base+wholeQueue < base || base%wholeQueue != 0 {
			t.Errorf("%q: %x", name, base)
		}
	}
}
