//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/lockfile"
)

// finalChecks looks at what is left when all workers have ended.
func (s *soak) finalChecks() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, s.state, lockfile.Options{Label: "soak, at the end"})
	if err != nil {
		s.violation("nobody is left, and the lock cannot be had: %v", err)
		return
	}
	s.fence = uint64(lock.Token())
	s.checkState()
	if err := lock.Release(); err != nil {
		s.violation("%v", err)
	}
	s.checkLog()
	s.checkFolder()
	s.checkHistory()
	if s.longest > s.still {
		s.violation("nothing was committed for %v, at most %v is allowed", s.longest, s.still)
	}
	if s.acks == 0 || s.killsHeld == 0 || s.logged == 0 {
		s.violation("too short to say anything: %d commits, %d holders killed, %d takeovers",
			s.acks, s.killsHeld, s.logged)
	}
}

func (s *soak) checkState() {
	began := monotonic()
	c, err := readState(s.state, s.workers)
	if err != nil {
		s.violation("%v", err)
		return
	}
	s.total = c.Total
	s.events = append(s.events, event{slot: -1, call: began, end: monotonic(), value: c.Total})
	for slot, n := range c.Slots {
		if n < s.acked[slot] {
			s.lost += s.acked[slot] - n
			s.violation("worker %d: commit %d was acknowledged, the state ends with %d", slot,
				s.acked[slot], n)
		}
	}
}

// checkLog: every takeover has a number of its own, higher than those before, and the counter has
// gone no further than the log says.
func (s *soak) checkLog() {
	entries, unreadable, err := lockfile.ReadLog(s.state, lockfile.Options{})
	if err != nil {
		s.violation("%v", err)
		return
	}
	s.unreadable = unreadable
	if unreadable > s.kills {
		s.violation("%d lines of the log cannot be read after %d kills", unreadable, s.kills)
	}
	var last uint64
	for _, e := range entries {
		if e.Event == lockfile.EventAbandoned && (s.faults > 0 || s.smallDisk) {
			continue
		}
		if e.Event != lockfile.EventTakeover {
			s.violation("the log has %q of fence %d, which nothing here causes", e.Event, e.Fence)
			continue
		}
		s.logged++
		// A recoverer that was killed before it raised the counter leaves its number to the next.
		if n := uint64(e.Fence); n < last {
			s.violation("the log has fence %d after %d", n, last)
		} else {
			last = n
		}
	}
	if last < s.fence {
		s.violation("the counter is at %d, the log ends with %d", s.fence, last)
	}
	_, err = os.Stat(s.state + ".recovery.log.1")
	if rolled := err == nil; s.takeovers > s.logged && !rolled {
		s.violation("%d takeovers, %d in the log", s.takeovers, s.logged)
	}
}

// checkHistory looks for an order in which one counter could have seen everything.
func (s *soak) checkHistory() {
	s.mu.Lock()
	events := s.events
	s.mu.Unlock()
	verdict, wrong := checkHistory(events)
	s.verdict = verdict
	if wrong != nil {
		s.violation("the history is %s:%s", verdict, story(wrong))
	}
}

func (s *soak) checkFolder() {
	names, err := os.ReadDir(filepath.Dir(s.state))
	if err != nil {
		s.violation("%v", err)
		return
	}
	base := filepath.Base(s.state)
	for _, entry := range names {
		switch rest := strings.TrimPrefix(entry.Name(), base); {
		case rest == "", rest == ".fence", rest == ".recovery.log", rest == ".recovery.log.1":
		case strings.HasPrefix(rest, ".recovered-"):
			s.markers++
		default:
			s.leftovers = append(s.leftovers, entry.Name())
			s.violation("left over: %s", entry.Name())
		}
	}
}
