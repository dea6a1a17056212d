package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

// However often owners die within an hour, the markers of their tenures are bounded, the newest
// stay, and those of other programs are left alone. (I6)
func TestMarkersAreBounded(t *testing.T) {
	state := newState(t)
	marker := func(n int) string { return fmt.Sprintf("%s.recovered-%024x", state, n) }
	put := func(n int, content string) {
		t.Helper()
		noError(t, os.WriteFile(marker(n), []byte(content), 0o600))
	}
	const ours, old, peers = 100, 5, 3
	now := time.Now().UTC()
	for n := range ours {
		at := now.Add(-time.Duration(n) * time.Second)
		put(n, "probate "+at.Format("2006-01-02T15:04:05.000Z")+"\n")
	}
	for n := ours; n < ours+old; n++ {
		at := now.Add(-2 * time.Hour)
		put(n, "probate "+at.Format("2006-01-02T15:04:05.000Z")+"\n")
	}
	for n := ours + old; n < ours+old+peers; n++ {
		put(n, "")
	}
	abandon(t, state)
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	noError(t, err)
	noError(t, lock.Release())

	left, err := filepath.Glob(state + ".recovered-*")
	noError(t, err)
	if len(left) != 64+peers {
		t.Fatalf("%d markers are left, want %d", len(left), 64+peers)
	}
	for n := range 60 {
		if _, err := os.Stat(marker(n)); err != nil {
			t.Errorf("marker %d, one of the newest: %v", n, err)
		}
	}
	for n := ours + old; n < ours+old+peers; n++ {
		if _, err := os.Stat(marker(n)); err != nil {
			t.Errorf("marker of a peer: %v", err)
		}
	}
	if s := strings.Join(left, " "); strings.Contains(s, marker(ours-1)) {
		t.Errorf("the oldest is left")
	}
}

// A process that acquires a lock with old markers beside it removes them, whoever died; young ones
// wait for their time.
func TestOldMarkersGoWithTheNextAcquire(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		left int
	}{"old": {2 * time.Hour, 0}, "young": {time.Minute, 3}} {
		t.Run(name, func(t *testing.T) {
			state := newState(t)
			at := time.Now().UTC().Add(-c.age).Format("2006-01-02T15:04:05.000Z")
			for n := range 3 {
				marker := fmt.Sprintf("%s.recovered-%024x", state, n)
				noError(t, os.WriteFile(marker, []byte("probate "+at+"\n"), 0o600))
			}
			child := startActor(t, state) // for which the folder is new
			tenureOf(t, child.Ask("acquire"))
			expect(t, child, "release", "ok")
			left, err := filepath.Glob(state + ".recovered-*")
			noError(t, err)
			if len(left) != c.left {
				t.Errorf("%d markers are left, want %d", len(left), c.left)
			}
		})
	}
}
