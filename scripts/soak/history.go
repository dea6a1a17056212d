//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// event is what somebody did with the counter in the state, within [call, end] of the clock that
// all processes share: raised it to value, which was acknowledged (certain) or not, or read it.
type event struct {
	slot      int // -1 for a reader
	call, end int64
	value     int
	certain   bool
}

func (e event) read() bool { return e.slot < 0 }

func (e event) String() string {
	what := fmt.Sprintf("worker %d raises to %d", e.slot, e.value)
	switch {
	case e.read():
		what = fmt.Sprintf("somebody reads %d", e.value)
	case !e.certain:
		what += ", perhaps"
	}
	return fmt.Sprintf("%.6f to %.6f  %s", float64(e.call)/1e9, float64(e.end)/1e9, what)
}

// counterModel is a number that is raised by one at a time. Whoever raises it says to what, so that
// two that count from the same number cannot both be true. A raise that was not acknowledged may
// have happened or not.
var counterModel = porcupine.NondeterministicModel{
	Step: func(state, input, _ any) []any {
		now, e := state.(int), input.(event)
		switch {
		case e.read() && now == e.value, !e.read() && !e.certain && now != e.value-1:
			return []any{now}
		case e.read(), now != e.value-1:
			return nil
		case e.certain:
			return []any{e.value}
		default:
			return []any{now, e.value}
		}
	},
}

const (
	// chunk is how many events are checked at once, roughly: the check needs memory that grows with
	// their square. They are cut apart at reads during which nobody else was at work, which say
	// with what the next chunk begins.
	chunk = 1500
	// checkTime bounds the check of one chunk. What ends it is an answer, unless it is this.
	checkTime = time.Minute
)

// checkHistory looks for an order of all events, each within its own time, that one counter could
// have seen. It returns a sentence, and the events that have no such order.
func checkHistory(events []event) (verdict string, wrong []event) {
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	initial, from, chunks := 0, 0, 0
	var busyUntil int64 // the latest end of the events so far
	for i, e := range events {
		last := i == len(events)-1
		alone := e.read() && e.call > busyUntil && (last || events[i+1].call > e.end)
		busyUntil = max(busyUntil, e.end)
		if !last && !(alone && i-from >= chunk) {
			continue
		}
		part := events[from : i+1]
		switch result := checkPart(initial, part); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			return fmt.Sprintf("not decided within %v for %d events", checkTime, len(part)), part
		default:
			return "NOT linearizable", part
		}
		chunks++
		initial, from = e.value, i+1
	}
	return fmt.Sprintf("linearizable: %d events in %d parts", len(events), chunks), nil
}

func checkPart(initial int, part []event) porcupine.CheckResult {
	model := counterModel
	model.Init = func() []any { return []any{initial} }
	operations := make([]porcupine.Operation, len(part))
	for i, e := range part {
		operations[i] = porcupine.Operation{ClientId: max(0, e.slot), Input: e, Call: e.call,
			Return: e.end}
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), operations, checkTime)
}

// story shows the events around the first that fits nowhere: an acknowledged raise to a number that
// was reached before, or a read of one that was not.
func story(wrong []event) string {
	const around = 12
	reached, at := 0, len(wrong)-1
	for i, e := range wrong {
		if !e.read() && e.certain && e.value <= reached || e.read() && e.value < reached {
			at = i
			break
		}
		if e.certain || e.read() {
			reached = max(reached, e.value)
		}
	}
	var b strings.Builder
	for i := max(0, at-around); i <= min(at+around, len(wrong)-1); i++ {
		fmt.Fprintf(&b, "\n  %d. %v", i+1, wrong[i])
	}
	return b.String()
}
