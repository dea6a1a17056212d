package explore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/internal/seam"
	"github.com/probate-dev/probate/probe/probetest"
)

// Paths in every scenario.
const (
	home   = "/d"
	state  = home + "/s"
	record = state + ".lock"
	gate   = state + ".fence"
	logs   = state + ".recovery.log"
)

// errGone is what the operations of a dead process fail with, while its goroutine ends. Nobody
// acts on it any more.
var errGone = errors.New("this process is gone")

// errPatience ends a wait in which nothing happens any more: the deadline that every caller has.
var errPatience = errors.New("nothing happened for a long time")

// world is one schedule while it runs.
type world struct {
	scenario *Scenario
	disk     *simfs.Disk
	procs    []*Proc
	threads  []*thread
	driver   driver
	monitor  Monitor
	story    *story // nil: nobody listens

	live     bool // schedules are taken; false during setup and the last checks
	aborting bool
	pruned   bool // it was met before how it goes on
	left     int  // preemptions
	mayCrash int  // processes that may still be killed
	crashes  int
	changes  int // of anything that others can see
	idle     int // wakes since the last change, with nothing else to do
	nextPID  int
	at       *thread // who runs
	last     *Proc   // who made the last step
	asked    bool    // and it was a question that a death can change the answer of
	dying    *thread // died while it ran; when its goroutine has ended, heir goes on
	heir     *thread
	finished chan struct{}
	ended    chan struct{} // an aborted thread is gone
}

// driver decides.
type driver interface {
	// choose picks one of the ways to go on. false: this schedule need not be followed any further.
	choose(w *world, current *thread, ways []way) (int, bool)
}

// way is one way to go on.
type way struct {
	thread *thread // go on with this one
	crash  *Proc   // or kill this one
	cost   int     // preemptions
}

// thread is a goroutine of a process: its script, or one that the lock started.
type thread struct {
	proc   *Proc
	number int
	resume chan struct{}
	status status
	asks   bool // its next operation is a question that a death can change the answer of
	woken  int  // changes by others that it knew of when it last began to look
}

type status int

const (
	ready    status = iota // about to make an operation
	paused                 // waits for something to happen
	sleeping               // for ever
	done
)

// Proc is a simulated process. Scripts are its main function; its methods are what they do.
type Proc struct {
	w       *world
	name    string
	script  *Script
	pid     int
	started uint64 // ticks
	files   *simfs.Process
	opts    lockfile.Options

	dead    bool
	history uint64 // of everything that it learnt
	own     int    // changes that it made
	mortal  int    // changes, and one, when it was last offered to be killed
	drawn   uint64 // random numbers
	reads   int64  // of the clock
	threads []*thread

	breaking string   // lock that it takes away on a person's word
	environ  []string // of a command that runs under a lock

	// Tenure is what the script holds.
	Tenure *Tenure
}

const firstPID = 4_190_000 // above what this machine hands out by default

func (w *world) newProc(script *Script) *Proc {
	w.nextPID++
	p := &Proc{w: w, name: script.Name, script: script, pid: firstPID + w.nextPID,
		started: 5000 + uint64(w.nextPID)}
	for _, q := range w.procs {
		if q.script == script {
			p.name += "'" // started again
			if w.scenario.ReusePID {
				p.pid = q.pid
			}
		}
	}
	p.files = w.disk.Process(uint64(w.nextPID), 0, p)
	p.opts = lockfile.Options{System: system{p}, GateWait: time.Hour}
	if w.scenario.Options != nil {
		w.scenario.Options(p, &p.opts)
	}
	seam.Enter(&p.opts, p.files, seam.Process{
		PID: func() int { return p.pid }, UID: func() int { return 0 },
		Now: p.now, Random: p.random, Go: p.spawn, Pause: p.pause,
		Later: func(time.Duration, func()) func() { return func() {} },
	})
	w.procs = append(w.procs, p)
	return p
}

// now is the wall clock: a little later each time, or what the scenario makes of it.
func (p *Proc) now() time.Time {
	p.reads++
	t := probetest.BootTime.Add(time.Hour + time.Duration(p.reads)*time.Millisecond)
	if p.w.scenario.Clock != nil {
		return p.w.scenario.Clock(p, t)
	}
	return t
}

// random is no more random than is needed: different in every process, and every time.
func (p *Proc) random(b []byte) {
	clear(b)
	p.drawn++
	binary.BigEndian.PutUint32(b, uint32(p.files.ID()))
	if len(b) >= 8 {
		binary.BigEndian.PutUint32(b[4:], uint32(p.drawn))
	}
}

// start makes a thread that runs fn when it is its turn.
func (p *Proc) start(fn func()) *thread {
	th := &thread{proc: p, number: len(p.threads), resume: make(chan struct{})}
	p.threads = append(p.threads, th)
	p.w.threads = append(p.w.threads, th)
	go func() {
		defer p.w.exit(th)
		<-th.resume
		if p.dead || p.w.aborting {
			return
		}
		fn()
	}()
	return th
}

func (p *Proc) spawn(fn func()) {
	if !p.dead && p.w.live {
		p.start(fn)
	}
}

// exit is the end of the goroutine of a thread.
func (w *world) exit(th *thread) {
	if trouble := recover(); trouble != nil {
		w.monitor.fail("I8", "%s panics: %v\n%s", th.proc.name, trouble, debug.Stack())
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
	next.resume <- struct{}{}
}

// ended notes that a thread came to its end. A process without threads has forgotten everything,
// and is gone, unless it stays.
func (p *Proc) ended() {
	for _, th := range p.threads {
		if th.status != done {
			return
		}
	}
	p.history = 1
	if p.script.Stays {
		return
	}
	p.w.note(p, "ends")
	p.files.Exit()
	p.dead = true
	p.w.monitor.left(p)
	p.w.changed(nil)
}

// changed notes that a process changed something that others can see.
func (w *world) changed(p *Proc) {
	w.changes++
	w.idle = 0
	if p != nil {
		p.own++
	}
}

// yield is a point at which something else may happen, in the goroutine of the running thread. It
// returns when it is the thread's turn again, and not at all when its process died meanwhile.
func (w *world) yield(th *thread, asks bool) {
	th.asks = asks
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
		next.resume <- struct{}{}
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
		ways := w.ways(current)
		if len(ways) == 0 {
			return nil, true
		}
		i, ok := w.driver.choose(w, current, ways)
		if !ok {
			w.pruned = true
			return nil, false
		}
		if ways[i].crash == nil {
			w.left -= ways[i].cost
			return w.turn(ways[i].thread), true
		}
		w.crash(ways[i].crash, current)
	}
	return nil, false
}

// turn lets a thread have its turn.
func (w *world) turn(th *thread) *thread {
	if th.status == paused {
		th.status = ready
		th.woken = w.changes - th.proc.own
	}
	return th
}

// ways lists what can happen next: first that the current thread goes on.
func (w *world) ways(current *thread) []way {
	ways := make([]way, 0, 8)
	add := func(enabled func(*thread) bool) {
		cost := 0
		if current.status == ready && !current.proc.dead && enabled(current) {
			ways, cost = append(ways, way{thread: current}), 1
		}
		for _, th := range w.threads {
			if th != current && cost <= w.left && enabled(th) {
				ways = append(ways, way{thread: th, cost: cost})
			}
		}
	}
	add(func(th *thread) bool {
		return th.status == ready && !th.proc.dead || th.status == paused && !th.proc.dead &&
			w.changes-th.proc.own > th.woken
	})
	if len(ways) == 0 { // time passes
		add(func(th *thread) bool { return th.status == paused && !th.proc.dead })
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

// matters reports whether it makes a difference that p is killed just here. A death changes locks,
// descriptors and who exists, and is the last step of p. So it commutes with everything that
// others do but asking for those, and one before or after such a question, or after the last change
// that p made itself, stands for all others until the next; a process that starts in its place may
// still wait for its turn.
func (w *world) matters(p *Proc, current *thread) bool {
	if current.proc != p {
		return w.asked || current.asks || current.status != ready
	}
	if p.mortal == w.changes+1 && w.last == p {
		return false // the same as where this was offered last: p has only read since
	}
	p.mortal = w.changes + 1
	return true
}

// crash kills a process, in the goroutine of the current thread.
func (w *world) crash(p *Proc, current *thread) {
	w.note(p, "is killed")
	w.crashes++
	p.dead = true
	for _, th := range p.threads {
		if th.status == done || th == current {
			continue
		}
		th.resume <- struct{}{}
		<-w.ended
	}
	p.files.Exit()
	p.history = 2
	w.changed(nil)
	w.monitor.left(p)
	if p.script.Restart != nil {
		again := w.newProc(p.script)
		again.start(func() { p.script.Restart(again) })
	}
}

// abort ends all goroutines.
func (w *world) abort() {
	w.aborting = true
	for _, th := range w.threads {
		if th.status != done {
			th.resume <- struct{}{}
			<-w.ended
		}
	}
}

// pause is the seam: it waits until somebody else has changed something since this process began to
// look, or nothing else can happen.
func (p *Proc) pause(ctx context.Context, _ time.Duration) error {
	w := p.w
	if p.dead || w.aborting {
		return errGone
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !w.live {
		return errPatience
	}
	th := w.at
	if w.idle > patience {
		p.learn(th, 3, 0)
		return errPatience
	}
	th.status = paused
	w.note(p, "waits")
	w.yield(th, false)
	p.learn(th, 4, 0)
	return nil
}

// patience is how often in a row somebody wakes in vain before he gives up: more than the looks
// that acquire gives a record that it cannot judge.
const patience = 16

// Sleep never returns.
func (p *Proc) Sleep() {
	th := p.w.at
	th.status = sleeping
	p.w.yield(th, false)
}

func (p *Proc) learn(th *thread, what, seen uint64) {
	p.history = simfs.Mix(simfs.Mix(p.history, what<<8|uint64(th.number)), seen)
}

func (w *world) note(p *Proc, format string, args ...any) {
	if w.story != nil {
		w.story.add(p.name, fmt.Sprintf(format, args...))
	}
}
