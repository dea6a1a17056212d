//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
)

// disturb kills and stops workers, holders if it can, and fills the disk, until the time is over
// and there was enough of it to say something, or ctx ends.
func (s *soak) disturb(ctx context.Context) {
	over := time.Now().Add(s.length)
	for now := time.Now(); now.Before(over) || s.tooShort() && now.Before(over.Add(patience)); {
		pause := time.NewTimer(s.between(80, 300))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case now = <-pause.C:
		}
		switch s.rand.IntN(9) {
		case 0:
			s.pauseOne()
		case 1, 2, 3:
			s.killOne() // wherever it is by the time that the signal arrives
		case 4:
			if s.smallDisk {
				s.fillDisk()
			}
		default:
			s.killHolder()
		}
	}
}

// tooShort reports whether nothing can be said yet.
func (s *soak) tooShort() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acks == 0 || s.killsHeld == 0 || s.takeovers == 0
}

// between returns a random time of so many milliseconds.
func (s *soak) between(least, most int64) time.Duration {
	return time.Duration(least+s.rand.Int64N(most-least)) * time.Millisecond
}

// holder looks who holds the lock: a worker, or nil. It is known by the label, as its number may be
// that of another pid namespace.
func (s *soak) holder() (*worker, string) {
	in, err := lockfile.Inspect(s.state, lockfile.Options{})
	if err != nil {
		s.violation("inspect: %v", err)
		return nil, ""
	}
	if in.Verdict != identity.Alive || in.Owner == nil {
		return nil, ""
	}
	slot, err := strconv.Atoi(strings.TrimPrefix(in.Owner.Label, labelPrefix))
	if err != nil || slot < 0 || slot >= s.workers {
		return nil, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bySlot[slot], in.LockID
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
	if w.killed == 0 {
		w.killed = monotonic()
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
	other := s.bySlot[(w.slot+1)%s.workers]
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
