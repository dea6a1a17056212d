package wake

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// join takes a place that hears nudges.
func join(t *testing.T, dir, name string) *Queue {
	t.Helper()
	d, err := os.Open(dir)
	noError(t, err)
	t.Cleanup(func() { d.Close() })
	q := Join(d.Fd(), name)
	if !q.Listen() {
		t.Fatal("it hears nothing")
	}
	t.Cleanup(q.Leave)
	return q
}

// nudged reports whether a place was nudged since it looked last.
func nudged(q *Queue) bool {
	noTime := q.socket.SetReadDeadline(time.Time{})
	c, err := q.socket.SyscallConn()
	if noTime != nil || err != nil {
		return true
	}
	is := false
	_ = c.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_DONTWAIT)
		is = err == nil
	})
	return is
}

// A nudge reaches the one right behind, of the same queue, and nobody else. All of them came at the
// same time, or nearly so, and yet everybody has a place of its own.
func TestNudge(t *testing.T) {
	dir := t.TempDir()
	var all []*Queue
	places := map[int64]bool{}
	for range 20 {
		q := join(t, dir, "S.lock")
		all = append(all, q)
		places[q.ticket] = true
	}
	if len(places) != len(all) {
		t.Fatalf("%d waiters have %d places", len(all), len(places))
	}
	inOrder := map[*Queue]int{}
	for _, q := range all {
		for _, other := range all {
			if other.ticket < q.ticket {
				inOrder[q]++
			}
		}
	}
	stranger := join(t, dir, "T.lock")
	for _, q := range all {
		q.Nudge()
		stranger.Nudge()
		for _, other := range all {
			if inOrder[other] == inOrder[q]+1 && !nudged(other) {
				t.Errorf("%d was not nudged", inOrder[other])
			}
		}
	}
	for _, q := range append(all, stranger) {
		if nudged(q) {
			t.Errorf("%d was nudged for nothing, or twice", inOrder[q])
		}
	}
	// Who leaves is passed over.
	for _, q := range all {
		if inOrder[q] == 1 {
			q.Leave()
		}
	}
	for _, q := range all {
		if inOrder[q] == 0 {
			q.Nudge()
		}
	}
	for _, q := range all {
		if inOrder[q] == 2 && !nudged(q) {
			t.Error("nobody was nudged where one had left")
		}
	}
}

// A nudge ends a sleep, also one that begins after it.
func TestNudgeWakes(t *testing.T) {
	dir := t.TempDir()
	before, q := join(t, dir, "S.lock"), join(t, dir, "S.lock")
	if before.ticket > q.ticket {
		before, q = q, before
	}
	for i := range 20 {
		slept := make(chan bool)
		go func() { slept <- q.Sleep(t.Context(), 2*longest) }()
		for range i {
			runtime.Gosched()
		}
		before.Nudge()
		select {
		case could := <-slept:
			if !could {
				t.Fatal("it cannot sleep")
			}
		case <-time.After(longest):
			t.Fatal("not woken")
		}
	}
}

// A sleep ends with its context, and who does not listen cannot sleep.
func TestNudgeSleepEnds(t *testing.T) {
	q := join(t, t.TempDir(), "S.lock")
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(errors.New("enough"))
	q.Sleep(ctx, longest)
	if ctx.Err() == nil {
		t.Error("it was woken by nobody")
	}
	q.Deafen()
	if q.Sleep(t.Context(), longest) {
		t.Error("it slept where nobody can wake it")
	}
	q.Nudge() // nobody is behind
}
