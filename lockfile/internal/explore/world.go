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

	host     probe.Host
	beforeOp func() // called before every file operation outside of schedules
	live     bool   // schedules are taken; false during setup and the last checks
	aborting bool
	pruned   bool // it was met before how it goes on

	everywhere bool   // processes are killed at every point
	end        uint64 // state in which it ended
	left       int    // preemptions
	mayCrash   int    // processes that may still be killed
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
	number int
	resume chan struct{}
	status status
	asks   bool // its next operation is a question that a death can change the answer of
	// history of its process when it was last at a point of choice
	yielded uint64
	woken   int // changes by others that it knew of when it last began to look
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
	died    int    // changes of all, when it was gone; 0: it lives
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
		started: 5000 + uint64(w.nextPID), history: 3}
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
		Later: func(time.Duration, func()) func() { return func() {} }, Ready: w.scenario.Ready,
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
