package explore

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// wake lets the goroutine of a thread go on, or begin.
func (w *world) wake(th *thread) {
	if th.resume != nil {
		th.resume <- struct{}{}
		return
	}
	th.resume = make(chan struct{})
	go func() {
		defer w.exit(th)
		th.begins()
		th.fn()
	}()
}

// stop ends the goroutine of a thread that will not have its turn any more, in that of another one.
func (w *world) stop(th *thread) {
	if th.status == done {
		return
	}
	if th.resume == nil {
		th.status = done
		return
	}
	th.resume <- struct{}{}
	<-w.ended
}

// exit is the end of the goroutine of a thread.
func (w *world) exit(th *thread) {
	if trouble := recover(); trouble != nil {
		th.proc.tell(failed{"I8", fmt.Sprintf("panics: %v\n%s", trouble, debug.Stack())})
	}
	th.status = done
	switch {
	case w.aborting:
		w.ended <- struct{}{}
	case th.proc.dead && w.dying != th: // killed by another process's step
		w.ended <- struct{}{}
	case th.proc.dead:
		w.dying = nil
		w.pass(w.heir)
	default:
		th.record(step{kind: ends})
		th.proc.ended()
		next, ok := w.decide(th)
		if !ok {
			next = nil
		}
		w.pass(next)
	}
}

// pass lets next run, or tells that this schedule is over.
func (w *world) pass(next *thread) {
	w.at = next
	if next == nil {
		close(w.finished)
		return
	}
	w.wake(next)
}

// yield is a point at which something else may happen, in the goroutine of the running thread. It
// returns when it is the thread's turn again, and not at all when its process died meanwhile.
func (w *world) yield(th *thread, asks bool) {
	th.asks = asks
	if th.yielded == th.proc.history && th.status == ready {
		panic("a step has taught its process nothing, not even that it was made")
	}
	th.yielded = th.proc.history
	next, ok := w.decide(th)
	switch {
	case !ok || next == nil && !th.proc.dead:
		w.at = nil
		close(w.finished)
		<-th.resume // to be aborted
	case th.proc.dead: // ends first, and then hands over
		w.dying, w.heir = th, next
	case next != th:
		w.at = next
		w.wake(next)
		<-th.resume
	}
	if th.proc.dead || w.aborting {
		runtime.Goexit()
	}
	w.last, w.asked = th.proc, asks
}

// decide asks the driver until it names a thread, and kills who is to be killed on the way. nil:
// there is nothing left to do.
func (w *world) decide(current *thread) (*thread, bool) {
	for w.monitor.broken == nil {
		ways := w.ways(current, w.room[:0])
		w.room = ways
		if len(ways) == 0 {
			return nil, true
		}
		i, ok := w.driver.choose(w, current, ways)
		if !ok {
			w.pruned = true
			return nil, false
		}
		if ways[i].crash == nil {
			w.pay(ways[i].cost)
			return w.turn(ways[i].thread), true
		}
		w.crash(ways[i].crash, current)
	}
	return nil, false
}

// pay takes preemptions off those that are left, unless there is no end of them.
func (w *world) pay(preemptions int) {
	if w.left >= 0 {
		w.left -= preemptions
	}
}

// turn lets a thread have its turn.
func (w *world) turn(th *thread) *thread {
	if th.status == paused {
		th.status = ready
		th.woken = w.changes - th.proc.own
	}
	return th
}

// ways adds what can happen next to an empty list: first that the current thread goes on.
func (w *world) ways(current *thread, ways []way) []way {
	add := func(enabled func(*thread) bool) {
		cost := 0
		if current.status == ready && !current.proc.dead && enabled(current) {
			ways, cost = append(ways, way{thread: current}), 1
		}
		for _, th := range w.threads {
			goesOn := th == current && th.status == ready // is in the list
			if !goesOn && (cost <= w.left || w.left < 0) && enabled(th) {
				ways = append(ways, way{thread: th, cost: cost})
			}
		}
	}
	add(func(th *thread) bool {
		return !th.proc.dead && (th.status == ready && w.timely(th) ||
			th.status == paused && w.changes-th.proc.own > th.woken)
	})
	if len(ways) == 0 { // time passes
		add(func(th *thread) bool {
			return (th.status == paused || th.status == ready) && !th.proc.dead
		})
		if len(ways) > 0 {
			w.idle++
		}
	}
	if len(ways) == 0 {
		return nil
	}
	if w.crashes < w.mayCrash {
		for _, p := range w.procs {
			if !p.dead && p.script.Mortal && w.matters(p, current) {
				ways = append(ways, way{crash: p})
			}
		}
	}
	return ways
}

// timely reports whether it makes a difference that a thread begins just now. What the lock does
// later is one step that nobody else can notice and that notices nobody else: after the last step
// of its own process it can as well have been made at once, with no more preemptions. Unless its
// process ends with it.
func (w *world) timely(th *thread) bool {
	if !th.late || !th.fresh || w.everywhere || w.last == nil || w.last == th.proc {
		return true
	}
	for _, other := range th.proc.threads {
		if other != th && other.status != done {
			return false
		}
	}
	return true
}

// matters reports whether it makes a difference that p is killed just here. A death changes locks,
// descriptors and who exists, and is the last step of p. So it commutes with everything that
// others do but asking for those, and one before or after such a question, or after the last change
// that p made itself, stands for all others until the next; a process that starts in its place may
// still wait for its turn.
func (w *world) matters(p *Proc, current *thread) bool {
	if w.everywhere {
		return true
	}
	if current.proc != p {
		return w.asked || current.asks || current.status != ready
	}
	if p.mortal == w.changes+1 && w.last == p {
		return false // the same as where this was offered last: p has only read since
	}
	p.mortal = w.changes + 1
	return true
}
