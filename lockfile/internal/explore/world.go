package explore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/lockfile/internal/seam"
	"github.com/probate-dev/probate/probe"
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
	tape     *tape  // nil: nobody remembers

	host     probe.Host
	beforeOp func()      // called before every file operation outside of schedules
	staged   bool        // the scenario is being set up
	live     bool        // schedules are taken; false during setup and the last checks
	still    bool        // no code runs: what processes do is on the tape
	touched  simfs.Touch // by the step that is made where no code runs
	aborting bool
	pruned   bool // it was met before how it goes on

	everywhere bool   // processes are killed at every point
	remembers  bool   // states in which processes ended differ by what those had learnt
	endsIn     uint64 // state in which it ended
	endsAs     uint64 // with what everybody has learnt
	room       []way
	left       int // preemptions
	mayCrash   int // processes that may still be killed
	crashes    int
	changes    int // of anything that others can see
	idle       int // wakes since the last change, with nothing else to do
	nextPID    int
	at         *thread // who runs
	last       *Proc   // who made the last step
	asked      bool    // and it was a question that a death can change the answer of
	dying      *thread // died while it ran; when its goroutine has ended, heir goes on
	heir       *thread
	finished   chan struct{}
	ended      chan struct{} // an aborted thread is gone
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
	number int // in the process
	place  int // in the world
	fn     func()
	resume chan struct{} // nil: it has no goroutine yet
	status status
	fresh  bool // it has not had its turn yet
	late   bool // what the lock does later
	asks   bool // its next operation is a question that a death can change the answer of
	// history of its process when it was last at a point of choice
	yielded uint64
	woken   int // changes by others that it knew of when it last began to look

	taping taping // of what it does just now
	next   *step  // where no code runs
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
	id      uint64
	place   int // in the world
	name    string
	script  *Script
	pid     int
	started uint64 // ticks
	files   *simfs.Process
	opts    lockfile.Options // of the real code, as environ

	dead    bool
	history uint64 // of everything that it learnt
	own     int    // changes that it made
	died    int    // changes of all, when it was gone; 0: it lives
	mortal  int    // changes, and one, when it was last offered to be killed
	drawn   uint64 // random numbers
	reads   int64  // of the clock
	threads []*thread

	breaking string   // lock that it takes away on a person's word
	began    int      // changes of all when its call began
	landed   int      // updates of its own tenure then
	looked   int      // changes of all when it last looked at the lock's name
	environ  []string // of a command that runs under a lock

	// Tenure is what the script holds.
	Tenure *Tenure
}

const firstPID = 4_190_000 // above what this machine hands out by default

func (w *world) newProc(script *Script) *Proc {
	w.nextPID++
	p := &Proc{w: w, id: uint64(w.nextPID), place: len(w.procs), name: script.Name,
		script: script, pid: firstPID + w.nextPID, started: 5000 + uint64(w.nextPID), history: 3}
	for _, q := range w.procs {
		if q.script == script {
			p.name += "'" // started again
			if w.scenario.ReusePID {
				p.pid = q.pid
			}
		}
	}
	p.files = w.disk.Process(p.id, 0, p)
	w.procs = append(w.procs, p)
	if !w.still {
		p.equip()
	}
	return p
}

// equip makes a process one in which the real code can run.
func (p *Proc) equip() {
	p.opts = lockfile.Options{System: system{p}, GateWait: time.Hour}
	if p.w.scenario.Options != nil {
		p.w.scenario.Options(p, &p.opts)
	}
	seam.Enter(&p.opts, p.files, seam.Process{
		PID: func() int { return p.pid }, UID: func() int { return 0 },
		Now: p.now, Random: p.random, Go: p.spawn, Pause: p.pause,
		Later: func(_ time.Duration, fn func()) func() { return p.later(fn) },
		Ready: p.w.scenario.Ready,
	})
}

// now is the wall clock: it stands, so that who has looked at it more often is not in another
// state, or is what the scenario makes of it.
func (p *Proc) now() time.Time {
	t := probetest.BootTime.Add(time.Hour)
	if p.w.scenario.Clock != nil {
		p.reads++
		return p.w.scenario.Clock(p, t)
	}
	return t
}

// random is no more random than is needed: different in every process, and every time.
func (p *Proc) random(b []byte) {
	clear(b)
	p.drawn++
	binary.BigEndian.PutUint32(b, uint32(p.id))
	if len(b) >= 8 {
		binary.BigEndian.PutUint32(b[4:], uint32(p.drawn))
	}
}

// start makes a thread that runs fn when it is its turn.
func (p *Proc) start(fn func()) *thread {
	th := &thread{proc: p, number: len(p.threads), place: len(p.w.threads), fn: fn, fresh: true}
	p.threads = append(p.threads, th)
	p.w.threads = append(p.w.threads, th)
	return th
}

// begins is the first thing that a thread does.
func (th *thread) begins() {
	th.fresh = false
	th.proc.learn(th, 6, 0)
	th.goesOn()
}

// spawn is the seam: it starts a thread.
func (p *Proc) spawn(fn func()) {
	if !p.dead && p.w.live {
		p.w.at.record(step{kind: spawns})
		p.start(fn)
	}
}

// later is the seam: it starts a thread which may begin at any time, or never if it is stopped
// before. Where closing a file is noticed by others there is none: what runs later closes files
// while others of its process wait for that, which schedules do not have.
func (p *Proc) later(fn func()) (stop func()) {
	w := p.w
	if p.dead || !w.live && !w.staged || w.scenario.Disk.OpensSeen {
		return func() {}
	}
	if w.live {
		w.at.record(step{kind: spawns, late: true})
	}
	th := p.start(fn)
	th.late = true
	return func() {
		if p.dead || w.aborting || !w.live || !th.fresh || th.status == done {
			return
		}
		w.at.record(step{kind: stops, thread: th.number})
		th.status = done
	}
}

// ended notes that a thread came to its end. A process without threads has forgotten everything,
// and is gone, unless it stays.
func (p *Proc) ended() {
	for _, th := range p.threads {
		if th.status != done {
			return
		}
	}
	if !p.w.remembers {
		p.history = 1
	}
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

// crash kills a process, in the goroutine of the current thread. That ends when somebody else has
// its turn.
func (w *world) crash(p *Proc, current *thread) {
	w.note(p, "is killed")
	w.crashes++
	p.dead = true
	for _, th := range p.threads {
		switch {
		case th == current:
		case w.still:
			th.status = done
		default:
			w.stop(th)
		}
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
		w.stop(th)
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
	th.record(step{kind: waits})
	if w.idle > patience {
		p.learn(th, 3, 0)
		th.goesOn()
		return errPatience
	}
	th.status = paused
	w.note(p, "waits")
	w.yield(th, false)
	p.learn(th, 4, 0)
	th.goesOn()
	return nil
}

// patience is how often in a row somebody wakes in vain before he gives up: more than the looks
// that acquire gives a record that it cannot judge.
const patience = 16

// Sleep never returns.
func (p *Proc) Sleep() {
	th := p.w.at
	th.record(step{kind: sleeps})
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
