package lockfile

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/ended"
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
	// Far behind in the queue, a waiter sleeps until the one before it tells it that its turn
	// comes. As that may fail it looks by itself too, the more rarely the longer nothing has moved.
	// Where nobody can tell, it sleeps for half of the time that its turn seems away.
	shortestSleep           = 25 * time.Millisecond
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

	queue  *wake.Queue
	nudged bool // the one behind
	nap    nap
	gave   bool // way to those before, since the lock was last seen free

	bell    *wake.Bell  // of the first in the queue; nil: none
	watch   *wake.Watch // of those who get no bell; nil: none
	belled  bool        // no bell was to be had
	watches bool        // the end of the process is noticed
	seen    vfs.Info    // the record that is watched
	pid     int
	echoing int // looks left after an event
}

// nap is how a waiter far behind knows how fast the queue moves.
type nap struct {
	at    time.Time
	first int64
	pause time.Duration
}

// end gives back what waiting took. Who goes without the lock makes place for another one.
func (w *waiting) end(acquired bool) {
	if !acquired {
		w.queue.Nudge()
	}
	w.queue.Leave()
	w.queue = nil
	w.p.unprepare()
	w.unwatch()
}

// unwatch does not wait for the watch to end.
func (w *waiting) unwatch() {
	if w.bell != nil {
		w.bell.Close()
		w.bell = nil
	}
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
// when that ends, or the lock, if that could be had without looking.
func (w *waiting) wait(ctx context.Context, s sighting) (*Lock, error) {
	w.gave = false
	if !w.p.in.watches || s.finding.Verdict != identity.Alive && !w.p.opts.WaitUnknown {
		return w.unwatched(ctx)
	}
	w.join()
	position := w.queue.Position()
	if position.Ahead > 1 {
		w.unwatch()
		return nil, w.sleep(ctx, position)
	}
	w.nap = nap{}
	w.queue.Deafen()
	if !w.watching(s, position.Ahead == 0) && w.watchFor(s, position.Ahead == 0) &&
		!(w.watches && w.stays()) {
		return nil, ended.Cause(ctx) // look again: it may have happened before
	}
	if w.bell == nil && (w.watch == nil || !w.watch.File) {
		return nil, w.pause.wait(ctx)
	}
	if position.Ahead == 0 && !w.nudged {
		w.nudged = true
		w.queue.Nudge() // it is the second now
		if w.p.opts.System == nil && w.p.opts.mayRecover() == "" {
			_ = w.p.probesAreSane() // once for each process: a takeover need not wait for it
		}
	}
	w.p.prepare()
	d := slowDeath
	if w.watches {
		d = slowPause
	}
	if w.echoing > 0 {
		w.echoing--
		d = echo << (echoes - w.echoing)
	}
	d = d/2 + jitter(d/2)
	if w.bell != nil {
		return w.atBell(ctx, d)
	}
	woken, err := pauseOr(ctx, d, w.watch.C)
	if woken {
		w.echoing = echoes
		if position.Ahead > 0 && err == nil { // the first in the queue is woken too
			err = w.p.in.Pause(ctx, echo/2+jitter(echo))
		}
	}
	return nil, err
}

// atBell waits as the first in the queue. Most of the time it is woken because the lock is free.
func (w *waiting) atBell(ctx context.Context, d time.Duration) (*Lock, error) {
	switch w.bell.Wait(ctx, d) {
	case wake.TimeIsUp:
		return nil, ended.Cause(ctx)
	case wake.Rung:
		if ctx.Err() != nil {
			return nil, ended.Cause(ctx)
		}
		lock, err := w.p.acquirePrepared()
		if err != errTaken {
			return lock, err
		}
		w.bell.Forget() // look after all that is forgotten
	}
	w.echoing = echoes
	return nil, ended.Cause(ctx)
}

// unwatched waits where nothing wakes anybody.
func (w *waiting) unwatched(ctx context.Context) (*Lock, error) {
	if !w.p.in.Ready {
		return nil, w.pause.wait(ctx)
	}
	w.p.prepare()
	if err := w.pause.wait(ctx); err != nil {
		return nil, err
	}
	lock, err := w.p.acquirePrepared()
	if err == errTaken {
		err = nil
	}
	return lock, err
}

// sleep waits far behind in the queue. Awake for a moment, it only looks whether its turn has come,
// or nobody is where the lock should be; the owner is for those before to look at, and for this one
// once in a while.
func (w *waiting) sleep(ctx context.Context, position wake.Position) error {
	for slept := time.Duration(0); slept < slowPause; {
		if w.queue.Listen() { // who listens may have missed what was said before
			position = w.queue.Position()
		}
		if position.Ahead < 2 {
			return nil
		}
		d := w.nap.longer(position)
		if !w.queue.Sleep(ctx, d) {
			d = w.nap.next(position, w.p.in.Now())
			_ = w.p.in.Pause(ctx, d)
		}
		if ctx.Err() != nil {
			return ended.Cause(ctx)
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

// watching reports whether the record in s is the watched one, as the first in the queue does.
func (w *waiting) watching(s sighting, first bool) bool {
	if !w.seen.SameFile(s.info) || w.pid != s.watchedPID() {
		return false
	}
	if w.bell != nil {
		return first && w.bell.Watches()
	}
	return w.watch != nil && (!first || w.belled)
}

// watchFor watches the record in s and the process that it names, and reports whether it does.
func (w *waiting) watchFor(s sighting, first bool) bool {
	w.echoing = 0
	if !w.p.fs.Local { // what other machines do to the file is not told
		w.unwatch()
		return false
	}
	pin, err := w.p.dir.Pin(w.p.lockName())
	if err != nil {
		w.unwatch()
		return false
	}
	defer pin.Close()
	if info, err := pin.Stat(); err != nil || !info.SameFile(s.info) {
		w.unwatch()
		return false
	}
	w.seen, w.pid = s.info, s.watchedPID()
	target := wake.Target{Dir: w.p.dir.Path(), Name: w.p.lockName(), Handle: pin.Handle(),
		PID: w.pid}
	if first && w.bell == nil {
		w.unwatch()
		w.bell = wake.Listen()
	}
	if first && w.bell != nil {
		if file, process := w.bell.Watch(target); file {
			w.watches = process
			return true
		}
	}
	w.unwatch()
	w.belled = first
	w.watch = wake.Open(target)
	w.watches = w.watch.Process
	return true
}

// stays reports whether the watched record was still there when its watch had begun. An end of its
// owner before that is told.
func (w *waiting) stays() bool {
	info, err := w.p.dir.Stat(w.p.lockName())
	return err == nil && info.SameFile(w.seen)
}

// watchedPID returns the process whose end is worth a look, 0 where its number means nothing here.
func (s *sighting) watchedPID() int {
	if s.record == nil || s.finding.Reason == identity.OtherPIDNamespace || !s.asked {
		return 0
	}
	return int(*s.record.PID)
}

// longer returns how long to sleep where a nudge ends it.
func (n *nap) longer(p wake.Position) time.Duration {
	n.pause = min(max(2*n.pause, shortestSleep), longestNap)
	if p.First != n.first {
		n.first, n.pause = p.First, shortestSleep
	}
	return n.pause/2 + jitter(n.pause/2)
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
