//go:build unix

package lockfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() { probetest.Register("committer", committer) }

// tally is a state whose every update can be told: how many each committer made, and all of them.
type tally struct {
	Total int
	Of    map[string]int
}

func readTally(path string) (tally, error) {
	var s tally
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &s)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if s.Of == nil {
		s.Of = map[string]int{}
	}
	return s, err
}

// consistent says what does not add up.
func (s tally) consistent() error {
	sum := 0
	for _, n := range s.Of {
		sum += n
	}
	if sum != s.Total {
		return fmt.Errorf("the total is %d, the parts make %d", s.Total, sum)
	}
	return nil
}

// committer commits in a loop, under a name of its own, until it is killed: "in" when it has the
// lock, "ack N" when its commit number N was acknowledged, or what it saw that must not be.
func committer(p *probetest.Peer) {
	state, crit, name := p.Arg(0), p.Arg(1), p.Arg(2)
	mine := 0
	check := func(err error) {
		if err != nil {
			p.Send("PROBLEM: " + oneLine(err))
			p.Wait()
		}
	}
	for {
		lock, err := lockfile.Acquire(context.Background(), state, lockfile.Options{Label: name})
		check(err)
		leave, err := enter(crit)
		if err != nil {
			check(fmt.Errorf("two holders: %w", err))
		}
		p.Send("in")
		for range 1 + rand.IntN(4) {
			s, err := readTally(state)
			check(err)
			check(s.consistent())
			if s.Of[name] != mine {
				check(
					fmt.Errorf("%d commits were acknowledged, the state has %d", mine, s.Of[name]),
				)
			}
			s.Total++
			s.Of[name]++
			text, err := json.Marshal(s)
			check(err)
			check(lock.WriteFile(state, text, 0o600))
			mine++
			p.Send(fmt.Sprintf("ack %d", mine))
		}
		leave()
		p.Send("out")
		check(lock.Release())
	}
}

// storm is what is known about the committers from outside.
type storm struct {
	mu       sync.Mutex
	acked    map[string]int
	killed   map[*probetest.Child]bool
	holder   *probetest.Child // nil when nobody is known to have the lock
	acks     int              // since the last kill
	lastAck  time.Time
	longest  time.Duration // without an acknowledged commit
	problems []string
}

// follow listens to one committer until it ends.
func (w *storm) follow(child *probetest.Child, name string, ended func()) {
	defer ended()
	for {
		line, ok := child.Next()
		w.mu.Lock()
		if !ok && !w.killed[child] {
			w.problems = append(w.problems, name+" ended")
		}
		if !ok {
			w.mu.Unlock()
			return
		}
		switch word, _, _ := strings.Cut(line, " "); word {
		case "in":
			w.holder = child
		case "out":
			if w.holder == child {
				w.holder = nil
			}
		case "ack":
			w.acked[name]++
			w.acks++
			now := time.Now()
			w.longest = max(w.longest, now.Sub(w.lastAck))
			w.lastAck = now
		default:
			w.problems = append(w.problems, name+": "+line)
		}
		w.mu.Unlock()
	}
}

// victim is who holds the lock, if somebody has committed since the last kill; an error if nobody
// has for too long.
func (w *storm) victim() (*probetest.Child, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	victim := w.holder
	if since := time.Since(w.lastAck); since > probetest.Patience {
		return nil, fmt.Errorf("nobody committed for %v", since)
	}
	if w.acks == 0 {
		return nil, nil
	}
	w.holder = nil
	return victim, nil
}

// Six processes commit in a loop while whoever holds the lock is killed 80 to 300 ms after the last
// one, at any moment, if that left somebody the time to commit: no acknowledged commit is lost, no
// two hold at once, nobody stands still, and nothing is left over but state, fence, log and
// markers. (I1, I3, I4, I6, I7)
func TestStormOfKills(t *testing.T) {
	needsProof(t)
	deaths := 16
	if testing.Short() {
		deaths = 4
	}
	state := newState(t)
	crit := filepath.Join(filepath.Dir(state), "crit")
	noError(t, os.WriteFile(crit, nil, 0o600))
	w := &storm{acked: map[string]int{}, killed: map[*probetest.Child]bool{}, lastAck: time.Now()}
	var followers sync.WaitGroup
	alive := map[*probetest.Child]bool{}
	started := 0
	start := func() {
		started++
		name := fmt.Sprintf("committer %d", started)
		child := probetest.Start(t, "committer", state, crit, name)
		alive[child] = true
		followers.Add(1)
		go w.follow(child, name, followers.Done)
	}
	for range 6 {
		start()
	}
	kill := func(child *probetest.Child) {
		delete(alive, child)
		w.mu.Lock()
		w.killed[child], w.acks = true, 0
		w.mu.Unlock()
		child.Kill()
	}
	for kills := 0; kills < deaths; {
		time.Sleep(80*time.Millisecond + rand.N(220*time.Millisecond)) // the weather
		victim, err := w.victim()
		noError(t, err)
		if victim == nil || !alive[victim] {
			continue // just between two
		}
		kill(victim)
		kills++
		start()
	}
	for child := range alive {
		kill(child)
	}
	followers.Wait()

	// Whoever comes next finds everything in order, in a process that never saw this lock.
	expect(t, startActor(t, state), "recover", recoverable(t, state))
	fresh := startActor(t, state)
	_, token, _ := tenureOf(t, fresh.Ask("acquire"))
	expect(t, fresh, "release", "ok")
	noLeftovers(t, state)
	if len(w.problems) != 0 {
		t.Errorf("the committers say %q", w.problems)
	}
	s, err := readTally(state)
	noError(t, err)
	noError(t, s.consistent())
	acked := 0
	for name, n := range w.acked {
		acked += n
		if s.Of[name] < n || s.Of[name] > n+1 { // one may have been killed before it could say so
			t.Errorf("%s: %d commits were acknowledged, the state has %d", name, n, s.Of[name])
		}
	}
	if acked < deaths {
		t.Errorf("%d commits and %d kills are no storm", acked, deaths)
	}
	fencesGrow(t, state, token)
	t.Logf("%d kills, %d commits acknowledged, %d in the state, fence %d, longest standstill %v",
		deaths, acked, s.Total, token, w.longest.Round(time.Millisecond))
}

// recoverable is what the verb recover will answer.
func recoverable(t probetest.TB, state string) string {
	t.Helper()
	if _, err := os.Stat(state + ".lock"); err != nil {
		return "nothing"
	}
	return "ok"
}
