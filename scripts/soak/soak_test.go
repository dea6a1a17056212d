//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	soakFor    = flag.Duration("soak", 2*time.Second, "how long TestSoak takes")
	soakFaults = flag.Int("soak.faults", 400, "one in so many file operations fails, 0 for none")
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerArg {
		work(os.Args[2:])
		return
	}
	if os.Geteuid() == 0 && os.Getenv(insideEnv) == "" {
		os.Exit(goInside(context.Background()))
	}
	os.Exit(m.Run())
}

// The whole of it, in short. scripts/mutants runs it on code that is broken on purpose.
func TestSoak(t *testing.T) {
	c := settings{length: *soakFor, still: 30 * time.Second, seed: rand.Uint64(), workers: 6,
		faults: *soakFaults, private: os.Geteuid() == 0}
	if code := run(t.Context(), c); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func raise(slot int, call, end int64, value int) event {
	return event{slot: slot, call: call, end: end, value: value, certain: true}
}

func perhaps(slot int, call, end int64, value int) event {
	return event{slot: slot, call: call, end: end, value: value}
}

func look(call, end int64, value int) event {
	return event{slot: -1, call: call, end: end, value: value}
}

func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		events []event
		wrong  bool
	}{
		"one after the other": {events: []event{raise(0, 1, 2, 1), raise(1, 3, 4, 2),
			look(5, 6, 2)}},
		"at once": {events: []event{raise(0, 1, 9, 2), raise(1, 1, 9, 1),
			look(2, 8, 1)}},
		"read before": {events: []event{raise(0, 1, 9, 1), look(2, 3, 0), look(4, 5, 1)}},
		"perhaps it was": {events: []event{perhaps(0, 1, 3, 1), raise(1, 4, 5, 2),
			look(6, 7, 2)}},
		"perhaps it was not": {events: []event{perhaps(0, 1, 3, 1), raise(1, 4, 5, 1),
			look(6, 7, 1)}},
		"nothing": {},
		"lost update": {wrong: true, events: []event{raise(0, 1, 4, 1), raise(1, 2, 5, 1),
			look(6, 7, 1)}},
		"went back": {wrong: true, events: []event{raise(0, 1, 2, 1), raise(1, 3, 4, 2),
			look(5, 6, 1)}},
		"lost at the end": {wrong: true, events: []event{raise(0, 1, 2, 1), look(5, 6, 0)}},
		"from nowhere":    {wrong: true, events: []event{raise(0, 1, 2, 2)}},
		"counted on something that was not there any more": {wrong: true, events: []event{
			perhaps(0, 1, 2, 1), look(3, 4, 0), raise(1, 5, 6, 2)}},
	} {
		verdict, wrong := checkHistory(c.events)
		if (wrong != nil) != c.wrong || strings.HasPrefix(verdict, "linearizable") == c.wrong {
			t.Errorf("%s: %s%s", name, verdict, story(wrong))
		}
	}
}

// Long histories are checked in parts, and what is wrong is found and shown wherever it is.
func TestLongHistory(t *testing.T) {
	var events []event
	const n = 4 * chunk
	for i := range n {
		at := int64(10 * i)
		events = append(events, raise(i%5, at+1, at+5, i+1))
		if i%7 == 0 {
			events = append(events, look(at+7, at+8, i+1))
		}
	}
	verdict, wrong := checkHistory(events)
	if wrong != nil || !strings.Contains(verdict, " parts") ||
		strings.Contains(verdict, " 1 parts") {
		t.Error(verdict)
	}
	spoilt := append([]event(nil), events...)
	at := len(spoilt) - 3
	for spoilt[at].read() {
		at--
	}
	spoilt[at].value--
	verdict, wrong = checkHistory(spoilt)
	if want := fmt.Sprint(spoilt[at].value); wrong == nil || !strings.Contains(story(wrong), want) {
		t.Errorf("%s, and not a word of %s:%s", verdict, want, story(wrong))
	}
}
