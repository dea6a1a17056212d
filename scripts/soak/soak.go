//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// patience is how long the parent waits for workers to end by themselves.
const patience = 30 * time.Second

// soak is the parent's view: what the workers said and what was done to them.
type soak struct {
	rand            *rand.Rand // of the goroutine that kills
	state, critical string
	running         sync.WaitGroup

	mu         sync.Mutex
	stopping   bool
	byPID      map[int]*worker
	killed     map[int]int64 // when, by the monotonic clock; never forgotten
	acked      [workers]int
	lastAck    time.Time
	longest    time.Duration
	violations []string

	acks, takeovers, lost, overlaps    int
	kills, killsHeld, stops, stopsHeld int
	total, logged, unreadable, markers int
	fence                              uint64
	leftovers                          []string
}

type worker struct {
	slot  int
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func (s *soak) violation(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// run starts the workers, disturbs them until ctx ends, and lets them end.
func (s *soak) run(ctx context.Context) error {
	if err := os.Mkdir(filepath.Dir(s.state), 0o700); err != nil {
		return err
	}
	for slot := range workers {
		if err := s.start(slot); err != nil {
			return err
		}
	}
	s.disturb(ctx)
	return s.end()
}

// start starts the worker of a slot, and another one when that ends, until all are to stop.
func (s *soak) start(slot int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, workerArg, strconv.Itoa(slot), strconv.Itoa(s.acked[slot]), s.state,
		s.critical)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w := &worker{slot: slot, cmd: cmd, stdin: stdin}
	s.byPID[cmd.Process.Pid] = w
	s.running.Go(func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			s.heard(w, lines.Text())
		}
		_ = cmd.Wait()
		s.mu.Lock()
		delete(s.byPID, cmd.Process.Pid)
		_, killed := s.killed[cmd.Process.Pid]
		s.mu.Unlock()
		if !killed && !cmd.ProcessState.Success() {
			s.violation("worker %d ended by itself: %v", slot, cmd.ProcessState)
		}
		if err := s.start(slot); err != nil {
			s.violation("worker %d could not be started again: %v", slot, err)
		}
	})
	return nil
}

// heard takes one line of a worker.
func (s *soak) heard(w *worker, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case sayAck:
		// Commits that a kill kept from being acknowledged leave gaps; nothing goes back.
		n, err := strconv.Atoi(rest)
		if err != nil || n <= s.acked[w.slot] {
			s.violations = append(s.violations, fmt.Sprintf(
				"worker %d acknowledged commit %s after %d", w.slot, rest, s.acked[w.slot]))
		}
		s.acked[w.slot] = n
		s.acks++
		now := time.Now()
		if !s.lastAck.IsZero() {
			s.longest = max(s.longest, now.Sub(s.lastAck))
		}
		s.lastAck = now
	case sayTakeover:
		s.takeovers++
	case sayConflict:
		var pid int
		var at int64
		if _, err := fmt.Sscan(rest, &pid, &at); err != nil {
			s.violations = append(s.violations, "cannot read "+strconv.Quote(line))
			return
		}
		// A killed holder may still be on its way out when the kernel has dropped its lock; it
		// executes nothing any more.
		if when, ok := s.killed[pid]; !ok || when > at {
			s.overlaps++
			s.violations = append(s.violations,
				fmt.Sprintf("two holders at once: worker %d and process %d", w.slot, pid))
		}
	case sayLost:
		s.lost++
		s.violations = append(s.violations, fmt.Sprintf("worker %d: %s", w.slot, rest))
	default:
		s.violations = append(s.violations, fmt.Sprintf("worker %d: %s", w.slot, line))
	}
}

// disturb kills and stops workers, holders if it can, until ctx ends.
func (s *soak) disturb(ctx context.Context) {
	for {
		pause := time.NewTimer(s.between(80, 300))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		switch s.rand.IntN(8) {
		case 0:
			s.pauseOne()
		case 1, 2, 3:
			s.killOne() // wherever it is by the time that the signal arrives
		default:
			s.killHolder()
		}
	}
}

// between returns a random time of so many milliseconds.
func (s *soak) between(least, most int64) time.Duration {
	return time.Duration(least+s.rand.Int64N(most-least)) * time.Millisecond
}

// holder looks who holds the lock: a worker, or nil.
func (s *soak) holder() (*worker, string) {
	in, err := lockfile.Inspect(s.state, lockfile.Options{})
	if err != nil {
		s.violation("inspect: %v", err)
		return nil, ""
	}
	if in.Verdict != identity.Alive || in.Owner == nil {
		return nil, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byPID[in.Owner.PID], in.LockID
}

func (s *soak) killOne() {
	for range 100 {
		if w, _ := s.holder(); w != nil {
			s.kill(w)
			return
		}
	}
}

// stopHolder stops the holder and makes sure that it still was one when it had stopped. The caller
// continues it.
func (s *soak) stopHolder() (w *worker, id string) {
	for range 100 {
		w, id := s.holder()
		if w == nil {
			continue
		}
		if err := stop(w.cmd.Process.Pid); err != nil {
			continue // it ended
		}
		if still, now := s.holder(); still == w && now == id {
			return w, id
		}
		_ = w.cmd.Process.Signal(syscall.SIGCONT)
	}
	return nil, ""
}

// stop stops a child and waits until all its threads stand: until then the signal is only pending,
// and a system call that removes a file, say, is carried out to its end.
func stop(pid int) error {
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	const look = 100 * time.Microsecond
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(look) {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil); err != nil {
			return err
		}
		if info.Signo != 0 {
			return nil
		}
	}
	return fmt.Errorf("process %d does not stop", pid)
}

func (s *soak) killHolder() {
	if w, _ := s.stopHolder(); w != nil {
		s.kill(w)
		s.mu.Lock()
		s.killsHeld++
		s.mu.Unlock()
	}
}

func (s *soak) kill(w *worker) {
	s.mu.Lock()
	if _, before := s.killed[w.cmd.Process.Pid]; !before {
		s.killed[w.cmd.Process.Pid] = monotonic()
		s.kills++
	}
	s.mu.Unlock()
	_ = w.cmd.Process.Kill()
}

// pauseOne stops the holder for longer than others look between two tries: it must keep its lock.
func (s *soak) pauseOne() {
	w, id := s.stopHolder()
	if w == nil {
		return
	}
	time.Sleep(s.between(100, 250))
	still, now := s.holder()
	if still != w || now != id {
		s.violation("worker %d was stopped while it held lock %s, and now %q stands", w.slot, id,
			now)
	}
	_ = w.cmd.Process.Signal(syscall.SIGCONT)
	s.mu.Lock()
	s.stops++
	s.stopsHeld++
	// And one that waits.
	var other *worker
	for _, o := range s.byPID {
		if o != w {
			other = o
		}
	}
	s.mu.Unlock()
	if other != nil {
		_ = stop(other.cmd.Process.Pid)
		time.Sleep(s.between(0, 30))
		_ = other.cmd.Process.Signal(syscall.SIGCONT)
		s.mu.Lock()
		s.stops++
		s.mu.Unlock()
	}
}

// end lets the workers end their tenures and waits for them.
func (s *soak) end() error {
	s.mu.Lock()
	s.stopping = true
	for _, w := range s.byPID {
		_, _ = io.WriteString(w.stdin, "stop\n")
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(patience):
	}
	s.mu.Lock()
	left := len(s.byPID)
	for _, w := range s.byPID {
		_ = w.cmd.Process.Kill()
	}
	s.mu.Unlock()
	return fmt.Errorf("%d workers did not end within %v of being told to", left, patience)
}

// monotonic is a clock that all processes of this machine share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
