package lockfile

import (
	"sync"
	"time"
)

// errands are functions that run after the same time, beside everything else, on one timer of the
// runtime. To start a timer can wake a thread, which costs as much as half of a tenure. So the
// timer is not stopped when an errand is, and runs on until a while has passed without any.
type errands struct {
	after time.Duration

	mu          sync.Mutex
	running     bool // the timer
	spare       int  // how often it runs on with nothing to do
	first, last *errand
}

const spareRuns = 10

// errand is one of them. Who is often in need of one has it in a place of its own.
type errand struct {
	all        *errands // nil: it was never added
	of         runner
	due        time.Time
	prev, next *errand
	over       bool
}

// runner is what runs when an errand is due.
type runner interface{ errand() }

type runFunc func()

func (fn runFunc) errand() { fn() }

// add has fn run, unless it is stopped before.
func (e *errands) add(fn func()) (stop func()) {
	one := &errand{}
	e.put(one, runFunc(fn), time.Now())
	return one.stop
}

// put is add with the room for it, which was not used before. since is a time that was just now.
func (e *errands) put(one *errand, of runner, since time.Time) {
	one.all, one.of, one.due = e, of, since.Add(e.after)
	e.mu.Lock()
	defer e.mu.Unlock()
	if one.prev = e.last; e.last != nil {
		e.last.next = one
	} else {
		e.first = one
	}
	e.last, e.spare = one, spareRuns
	if !e.running {
		e.running = true
		time.AfterFunc(e.after, e.run)
	}
}

func (o *errand) stop() {
	if o.all == nil {
		return
	}
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	o.all.remove(o)
}

// remove takes an errand out, once. e is locked.
func (e *errands) remove(o *errand) {
	if o.over {
		return
	}
	o.over = true
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		e.first = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		e.last = o.prev
	}
	o.prev, o.next = nil, nil
}

// run runs what is due, and starts the timer again for what is not.
func (e *errands) run() {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for e.first != nil && !e.first.due.After(now) {
		one := e.first
		e.remove(one)
		go one.of.errand()
	}
	next := e.after
	if e.first != nil {
		next = e.first.due.Sub(now)
	}
	if e.running = e.first != nil || e.spare > 0; e.running {
		time.AfterFunc(next, e.run)
	}
	e.spare--
}
