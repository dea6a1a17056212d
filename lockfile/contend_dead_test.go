package lockfile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() { probetest.Register("contender", contender) }

// contender acquires the lock of its first argument whenever it is told to go, raises the number in
// the state by one, and releases. Its second argument is a file of which only the holder may have
// the system's own lock. It tells "FENCE recovered" or "FENCE free", or what went wrong.
func contender(p *probetest.Peer) {
	// Where a record can only be published in place, it is empty for as long as its owner does not
	// get the processor between two calls. Who waits there must wait that long.
	inPlace := false
	for {
		verb, rest, _ := strings.Cut(p.Line(), " ")
		if verb == "go" {
			opts := knobs{WithoutKernelLock: rest != "", GateWait: time.Minute}.options()
			opts.WaitUnknown = inPlace
			p.Send(oneTurn(p.Arg(0), p.Arg(1), opts))
		} else {
			inPlace = inPlace || verb == "lack" && strings.HasPrefix(rest, "renames and links")
			p.Send(verbs[verb](nil, rest))
		}
	}
}

// oneTurn is one tenure.
func oneTurn(state, crit string, opts lockfile.Options) string {
	lock, err := lockfile.Acquire(context.Background(), state, opts)
	if err != nil {
		return "acquire: " + oneLine(err)
	}
	leave, err := enter(crit)
	if err != nil {
		lock.Release()
		return "TWO HOLDERS: " + oneLine(err)
	}
	n, err := number(state)
	if err == nil {
		err = lock.WriteFile(state, []byte(strconv.Itoa(n+1)), 0o600)
	}
	if err != nil {
		return "write: " + oneLine(err)
	}
	leave()
	if err := lock.Release(); err != nil {
		return "release: " + oneLine(err)
	}
	how := "free"
	if lock.Recovered() != nil {
		how = "recovered"
	}
	return fmt.Sprintf("%d %s", lock.Token(), how)
}

// contenders are children that go for one lock at the same time.
type contenders struct {
	state    string
	children []*probetest.Child
	turns    int
	gap      bool // no exchange here: the name is free for a moment during a takeover
}

func startContenders(t probetest.TB, n int, state string) *contenders {
	t.Helper()
	c := &contenders{state: state}
	crit := filepath.Join(filepath.Dir(state), "crit")
	noError(t, os.WriteFile(crit, nil, 0o600))
	for range n {
		c.children = append(c.children, probetest.Start(t, "contender", state, crit))
	}
	return c
}

// turn lets every child have the lock once. All must get the number fence, and one of them, where
// there is a dead owner, by taking over.
func (c *contenders) turn(t probetest.TB, how string, fence int, dead bool) {
	t.Helper()
	for _, child := range c.children {
		child.Send("go" + how)
	}
	took := 0
	for i, child := range c.children {
		var token int
		var how string
		line := child.Line()
		if n, _ := fmt.Sscanf(line, "%d %s", &token, &how); n != 2 {
			t.Fatalf("contender %d: %s", i, line)
		}
		if how == "recovered" {
			took++
		}
		if token != fence {
			t.Fatalf("contender %d has fence %d, want %d", i, token, fence)
		}
		c.turns++
	}
	want := map[bool]int{true: 1}[dead]
	if dead && took == 0 && c.gap {
		want = 0
		wasAbandoned(t, c.state, fence)
	}
	if took != want {
		t.Fatalf("%d of %d took over, want %d", took, len(c.children), want)
	}
	if now := counterOf(t, c.state); now != fence {
		t.Fatalf("the fence is %d, want %d", now, fence)
	}
	if n, err := number(c.state); err != nil || n != c.turns {
		t.Fatalf("the number is %d after %d updates, %v", n, c.turns, err)
	}
}

// wasAbandoned expects that whoever took over with that number lost the name, in the moment in
// which it was free, to a contender that then holds the same number.
func wasAbandoned(t probetest.TB, state string, fence int) {
	t.Helper()
	entries, _, err := lockfile.ReadLog(state, lockfile.Options{})
	noError(t, err)
	for _, e := range entries {
		if e.Event == lockfile.EventAbandoned && int(e.Fence) == fence {
			return
		}
	}
	t.Fatalf("nobody took over with fence %d, and no takeover was abandoned", fence)
}

// Eight contenders on one dead record: exactly one takes over each time, the fence grows by exactly
// one each time, and no update of the number in the state is lost. (I1, I3, I7)
func TestContendersOnADeadRecord(t *testing.T) {
	rounds := fewerOnWine(60)
	if testing.Short() {
		rounds = 10
	}
	state := newState(t)
	race := startContenders(t, 8, state)
	race.gap = vfs.OwnerKeeps()
	for round := 1; round <= rounds; round++ {
		abandon(t, state)
		race.turn(t, "", round, true)
	}
	entries, unreadable, err := lockfile.ReadLog(state, lockfile.Options{})
	abandoned := 0
	for _, e := range entries {
		if race.gap && e.Event == lockfile.EventAbandoned {
			abandoned++
		}
	}
	if err != nil || unreadable != 0 || len(entries) != rounds+abandoned {
		t.Fatalf("%d log entries, %d of them abandoned, %d unreadable, %v; want %d takeovers",
			len(entries), abandoned, unreadable, err, rounds)
	}
	fence := 0
	for i, e := range entries {
		if e.Event == lockfile.EventTakeover {
			fence++
		}
		if int(e.Fence) != fence {
			t.Errorf("log entry %d: %s of fence %d", i, e.Event, e.Fence)
		}
	}
	noLeftovers(t, state)
}
