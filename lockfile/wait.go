package lockfile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/wake"
)

// Times between two looks at a lock that somebody else has, all of them jittered. They decide how
// soon something is noticed, never what is believed.
const (
	// longestPause where nothing wakes a waiter.
	longestPause = 50 * time.Millisecond
	// echo is the pause after an event that left the owner alive: the kernel tells of the close of
	// a dying owner's file a moment before it gives the lock free. It doubles, this many times.
	echo, echoes = 200 * time.Microsecond, 8
	// grace is how long those who have waited longer may take for a lock that is free. A newcomer
	// lets them go first when one has waited for patience: to hand a lock on costs more than to
	// take it again, so that a little unfairness is worth much.
	grace, patience = 2 * time.Millisecond, 5 * time.Millisecond
	// Far behind in the queue, a waiter sleeps for half of the time that its turn seems away.
	shortestNap, longestNap = 250 * time.Microsecond, 500 * time.Millisecond
)

// slowPause is the time between two looks where a release and the owner's end both wake a waiter,
// slowDeath where only a release does.
var slowPause, slowDeath = time.Second, 200 * time.Millisecond

// waiting is an Acquire that waits. Of all who wait for a lock the first two in the queue are woken
// by what happens to it; those behind sleep until it is about their turn. So a release wakes two,
// however many wait, and most of the time the first of them gets the lock.
type waiting struct {
	p     *place
	pause pause

	queue *wake.Queue
	nap   nap
	gave  bool // way to those before, since the lock was last seen free

	watch   *wake.Watch // of the record in seen; nil: none
	seen    vfs.Info
	pid     int
	echoing int // looks left after an event
}

// nap is how a waiter far behind knows how fast the queue moves.
type nap struct {
	at    time.Time
	first int64
	pause time.Duration
}

// end gives back what waiting took.
func (w *waiting) end() {
	w.queue.Leave()
	w.queue = nil
	w.p.unprepare()
	w.unwatch()
}

// unwatch does not wait for the watch to end.
func (w *waiting) unwatch() {
	if w.watch != nil {
		w.p.in.Go(w.watch.Close)
		w.watch = nil
	}
}

// queues reports whether waiters stand in a queue here.
func (w *waiting) queues() bool { return w.p.in.watches && w.p.fs.Local }

// join takes a place in the queue, once.
func (w *waiting) join() {
	if w.queue == nil && w.queues() {
		w.queue = wake.Join(w.p.dir.Handle(), w.p.lockName())
	}
}

// turn reports whether a lock that is free is for this waiter to take: nobody waits longer, or they
// had their chance.
func (w *waiting) turn() bool {
	if w.queue == nil {
		if w.gave || !w.queues() {
			return true
		}
		longest, is := wake.Waiting(w.p.dir.Handle(), w.p.lockName())
		if !is || longest < patience {
			return true
		}
		w.join()
	}
	return w.gave || w.queue.Position().Ahead == 0
}

// giveWay lets those who wait longer go first. One of them that does not come, because it is
// stopped, holds nobody up for longer than this.
func (w *waiting) giveWay(ctx context.Context) error {
	w.gave = true
	return w.p.in.Pause(ctx, grace/2+jitter(grace))
}

// wait waits until it is worth looking again. s is what was seen last. It returns the cause of ctx
// when that ends.
func (w *waiting) wait(ctx context.Context, s sighting) error {
	w.gave = false
	if !w.p.in.watches || s.finding.Verdict != identity.Alive && !w.p.opts.WaitUnknown {
		return w.pause.wait(ctx)
	}
	w.join()
	position := w.queue.Position()
	if position.Ahead > 1 {
		w.unwatch()
		return w.sleep(ctx, position)
	}
	w.nap = nap{}
	if w.watch == nil || !w.watching(s) {
		w.watchFor(s)
		if w.watch != nil {
			return context.Cause(ctx) // look again: it may have happened before
		}
	}
	if w.watch == nil || !w.watch.File {
		return w.pause.wait(ctx)
	}
	if position.Ahead == 0 {
		w.p.prepare()
	}
	d := slowDeath
	if w.watch.Process {
		d = slowPause
	}
	if w.echoing > 0 {
		w.echoing--
		d = echo << (echoes - w.echoing)
	}
	woken, err := pauseOr(ctx, d/2+jitter(d/2), w.watch.C)
	if woken {
		w.echoing = echoes
		if position.Ahead > 0 && err == nil {
			return w.p.in.Pause(ctx, grace/2+jitter(grace)) // the first in the queue is woken too
		}
	}
	return err
}

// sleep waits far behind in the queue. Awake for a moment, it only looks whether its turn has come,
// or nobody is where the lock should be; the owner is for those before to look at, and for this one
// once in a while.
func (w *waiting) sleep(ctx context.Context, position wake.Position) error {
	for slept := time.Duration(0); slept < slowPause; {
		d := w.nap.next(position, w.p.in.Now())
		if err := w.p.in.Pause(ctx, d); err != nil {
			return err
		}
		slept += d
		if position = w.queue.Position(); position.Ahead < 2 {
			return nil
		}
		if _, err := w.p.dir.Stat(w.p.lockName()); err != nil {
			return nil
		}
	}
	return nil
}

// watching reports whether the record in s is the watched one.
func (w *waiting) watching(s sighting) bool {
	return w.seen.SameFile(s.info) && w.pid == s.watchedPID()
}

// watchFor watches the record in s and the process that it names.
func (w *waiting) watchFor(s sighting) {
	w.unwatch()
	w.echoing = 0
	if !w.p.fs.Local {
		return // what other machines do to the file is not told
	}
	pin, err := w.p.dir.Pin(w.p.lockName())
	if err != nil {
		return
	}
	defer pin.Close()
	if info, err := pin.Stat(); err != nil || !info.SameFile(s.info) {
		return
	}
	w.seen, w.pid = s.info, s.watchedPID()
	w.watch = wake.Open(wake.Target{Dir: w.p.dir.Path(), Name: w.p.lockName(),
		Handle: pin.Handle(), PID: w.pid})
}

// watchedPID returns the process whose end is worth a look, 0 where its number means nothing here.
func (s *sighting) watchedPID() int {
	if s.record == nil || s.finding.Reason == identity.OtherPIDNamespace || !s.asked {
		return 0
	}
	return int(*s.record.PID)
}

// next returns how long to sleep. The tickets of those who are served go by; from how fast they do
// follows when this waiter's turn comes.
func (n *nap) next(p wake.Position, now time.Time) time.Duration {
	pause := min(max(2*n.pause, shortestNap), longestNap)
	if moved, passed := p.First-n.first, now.Sub(n.at); n.first > 0 && moved > 0 && passed > 0 {
		left := float64(passed) * float64(p.Mine-p.First) / float64(moved)
		pause = time.Duration(min(max(left/2, float64(shortestNap)), float64(longestNap)))
	}
	if p.First != n.first {
		n.first, n.at = p.First, now
	}
	n.pause = pause
	return pause/2 + rand.N(pause/2+1)
}
