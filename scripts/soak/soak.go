//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// patience is how long the parent waits for what must happen: workers that end by themselves, a
// commit.
const patience = time.Minute

const labelPrefix = "soak "

// soak is the parent's view: what the workers said and what was done to them.
type soak struct {
	settings
	rand                  *rand.Rand // of the goroutine that disturbs
	home, state, critical string
	smallDisk             bool
	running               sync.WaitGroup

	mu         sync.Mutex
	stopping   bool
	bySlot     []*worker
	deaths     [][]death // of every slot
	started    uint64
	acked      []int
	events     []event
	lastAck    time.Time
	longest    time.Duration
	violations []string

	acks, refused, takeovers, lost, overlaps  int
	kills, killsHeld, stops, stopsHeld, fills int
	total, logged, unreadable, markers        int
	faulted                                   int
	fence                                     uint64
	leftovers                                 []string
	verdict                                   string
}

// death is the time between a kill and the moment at which nothing was left of the process. Until
// then its kernel locks may be seen.
type death struct{ killed, reaped int64 }

type worker struct {
	slot   int
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	faulty bool
	killed int64 // when, 0 for never
	open   *event
}

func newSoak(c settings, home string) *soak {
	return &soak{settings: c, rand: rand.New(rand.NewPCG(c.seed, 0)), home: home,
		state:    filepath.Join(home, "data", "state"),
		critical: filepath.Join(home, "critical"), bySlot: make([]*worker, c.workers),
		deaths: make([][]death, c.workers), acked: make([]int, c.workers)}
}

func (s *soak) violation(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violate(format, args...)
}

// violate is violation with the lock held.
func (s *soak) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// run starts the workers, disturbs them until it is over or ctx ends, and lets them end.
func (s *soak) run(ctx context.Context) error {
	for slot := range s.workers {
		if err := s.start(slot); err != nil {
			return err
		}
	}
	reading, done := context.WithCancel(ctx)
	var readers sync.WaitGroup
	readers.Go(func() { s.keepReading(reading) })
	s.disturb(ctx)
	done()
	readers.Wait()
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
	s.started++
	o := workerOrder{Slot: slot, Acked: s.acked[slot], State: s.state, Critical: s.critical,
		Workers: s.workers, SmallDisk: s.smallDisk, Seed: s.seed, Stream: s.started}
	if slot*2 >= s.workers {
		o.Faults = s.faults
	}
	attributes := s.attributes(slot)
	o.OwnProc = s.private && slot%3 == 1
	order, err := json.Marshal(o)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, workerArg, string(order))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attributes
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
	w := &worker{slot: slot, cmd: cmd, stdin: stdin, faulty: o.Faults > 0}
	s.bySlot[slot] = w
	s.running.Go(func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			s.heard(w, lines.Text())
		}
		_ = cmd.Wait()
		s.ended(w)
		if err := s.start(slot); err != nil {
			s.violation("worker %d could not be started again: %v", slot, err)
		}
	})
	return nil
}

// ended takes note of the end of a worker. What it was about to raise it has raised by now, or
// never.
func (s *soak) ended(w *worker) {
	now := monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bySlot[w.slot] = nil
	if w.open != nil {
		w.open.end = now
		s.events = append(s.events, *w.open)
	}
	gaveUp := w.faulty && w.cmd.ProcessState.ExitCode() == exitFaulty
	switch {
	case w.killed != 0:
		s.deaths[w.slot] = append(s.deaths[w.slot], death{w.killed, now})
	case gaveUp, w.cmd.ProcessState.Success():
	default:
		s.violate("worker %d ended by itself: %v", w.slot, w.cmd.ProcessState)
	}
}

// heard takes one line of a worker.
func (s *soak) heard(w *worker, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	var n int
	var at int64
	scan := func(into ...any) {
		if _, err := fmt.Sscan(rest, into...); err != nil {
			s.violate("worker %d said %q", w.slot, line)
		}
	}
	switch verb {
	case sayTry:
		scan(&n, &at)
		w.open = &event{slot: w.slot, call: at, value: n}
	case sayAck:
		scan(&n, &at)
		s.acknowledged(w, n, at)
	case sayUnsure:
		scan(&at)
		w.open.end = at
		s.events = append(s.events, *w.open)
		w.open = nil
	case sayRefused:
		s.refused++
		w.open = nil
	case sayTakeover:
		s.takeovers++
	case sayFaults:
		scan(&n)
		s.faulted += n
	case sayConflict:
		scan(&n, &at)
		if !s.dying(n, at) {
			s.overlaps++
			s.violate("two holders at once: worker %d and worker %d", w.slot, n)
		}
	case sayLost:
		s.lost++
		s.violate("worker %d: %s", w.slot, rest)
	default:
		s.violate("worker %d: %s", w.slot, line)
	}
}

// acknowledged: commits that a kill kept from being acknowledged leave gaps; nothing goes back.
func (s *soak) acknowledged(w *worker, n int, at int64) {
	if w.open == nil || n <= s.acked[w.slot] {
		s.violate("worker %d acknowledged commit %d after %d", w.slot, n, s.acked[w.slot])
	}
	if w.open != nil {
		w.open.end, w.open.certain = at, true
		s.events = append(s.events, *w.open)
		w.open = nil
	}
	s.acked[w.slot] = n
	s.acks++
	now := time.Now()
	if !s.lastAck.IsZero() {
		s.longest = max(s.longest, now.Sub(s.lastAck))
	}
	s.lastAck = now
}

// dying reports whether a killed worker of that slot may still have been on its way out: it
// executes nothing any more, but the kernel may not have dropped all its locks.
func (s *soak) dying(slot int, at int64) bool {
	if slot < 0 || slot >= s.workers {
		return false
	}
	for _, d := range s.deaths[slot] {
		if d.killed <= at && at <= d.reaped {
			return true
		}
	}
	w := s.bySlot[slot]
	return w != nil && w.killed != 0 && w.killed <= at
}

// keepReading looks at the state now and then, without the lock: readers see one state or the next.
func (s *soak) keepReading(ctx context.Context) {
	r := rand.New(rand.NewPCG(s.seed, 1))
	for ctx.Err() == nil {
		time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
		began := monotonic()
		c, err := readState(s.state, s.workers)
		ended := monotonic()
		s.mu.Lock()
		if err != nil {
			s.violate("a reader: %v", err)
		} else {
			s.events = append(s.events, event{slot: -1, call: began, end: ended, value: c.Total})
		}
		s.mu.Unlock()
	}
}

// end lets the workers end their tenures and waits for them.
func (s *soak) end() error {
	s.mu.Lock()
	s.stopping = true
	for _, w := range s.bySlot {
		if w != nil {
			_, _ = io.WriteString(w.stdin, "stop\n")
		}
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
	defer s.mu.Unlock()
	left := 0
	for _, w := range s.bySlot {
		if w != nil {
			left++
			_ = w.cmd.Process.Kill()
		}
	}
	return fmt.Errorf("%d workers did not end within %v of being told to", left, patience)
}
