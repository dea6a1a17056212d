package explore

import (
	"errors"
	"path"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

// Cast is how a scenario puts its processes on the stage.
type Cast struct{ w *world }

// Process makes a process that does nothing of its own, for the time before the schedule begins:
// what it does is done in one piece.
func (c *Cast) Process(script *Script) *Proc { return c.w.newProc(script) }

// Enter lets a process run its script from the beginning of the schedule on.
func (c *Cast) Enter(p *Proc) { p.start(func() { p.script.Run(p) }) }

// Add is Process and Enter.
func (c *Cast) Add(script *Script) *Proc {
	p := c.w.newProc(script)
	c.Enter(p)
	return p
}

// End kills a process before the schedule begins.
func (c *Cast) End(p *Proc) {
	p.dead = true
	p.files.Exit()
	c.w.monitor.left(p)
}

// Put makes a file.
func (c *Cast) Put(name, content string) { c.w.disk.Put(name, []byte(content), 0o600, 0) }

// play runs one schedule of the real code. whole says that it was followed to its end, and the last
// checks made.
func play(sc *Scenario, d driver, b Bounds, told *story, t *tape) (w *world, whole bool) {
	w = begin(sc, b, told)
	w.driver, w.tape = d, t
	w.live = true
	if next, ok := w.decide(nobody(w)); ok && next != nil {
		w.at = next
		w.wake(next)
		<-w.finished
	}
	w.live = false
	if whole = w.monitor.broken == nil && !w.pruned; whole {
		w.endsIn, w.endsAs = w.endState()
		w.epilogue()
	}
	w.abort()
	for _, p := range w.procs {
		p.files.Exit()
	}
	return w, whole
}

// begin returns the world in which a schedule begins.
func begin(sc *Scenario, b Bounds, told *story) *world {
	disk := sc.Disk
	disk.Uncut, disk.Touches = true, true
	w := newWorld(sc, simfs.New(disk, 0, home))
	w.left, w.mayCrash, w.everywhere, w.story = b.Preemptions, b.crashes(sc), b.Plain, told
	w.remembers = b.Learnt != nil
	w.disk.Put(state, []byte("0"), 0o600, 0)
	w.staged = true
	sc.Setup(&Cast{w})
	w.staged = false
	if told != nil {
		told.add("", "the schedule begins")
	}
	return w
}

// nobody is who was at work before the schedule began.
func nobody(w *world) *thread {
	return &thread{proc: &Proc{w: w, dead: true, script: &Script{}}, status: done}
}

// endState is the state in which a schedule ended, and the same with what everybody has learnt.
func (w *world) endState() (end, learnt uint64) {
	end = simfs.Mix(w.disk.Hash(), w.monitor.hash())
	for _, p := range w.procs { // who is still there to be asked for, killed, and seen to hold
		end = simfs.Mix(end, bit(p.dead))
		learnt = simfs.Mix(learnt, p.history)
	}
	return end, simfs.Mix(end, learnt)
}

func newWorld(sc *Scenario, disk *simfs.Disk) *world {
	w := &world{scenario: sc, disk: disk, host: host, changes: 1,
		finished: make(chan struct{}), ended: make(chan struct{})}
	w.monitor.w = w
	return w
}

// epilogue is what must be possible after every schedule: while somebody holds, he is seen to hold;
// when everybody is gone, the next one acquires without a person, no update is lost, and nothing
// is left over.
func (w *world) epilogue() {
	if told := w.story; told != nil {
		told.add("", "everybody has come to an end, or waits for ever; a new process comes")
	}
	last := &Script{Name: "last"}
	if t := w.holder(); t != nil {
		p := w.newProc(last)
		lock, err := lockfile.TryAcquire(state, p.opts)
		if busy, ok := errors.AsType[*lockfile.BusyError](err); !ok ||
			busy.Finding.Verdict != identity.Alive && !t.proc.script.Legacy {
			w.monitor.fail("I5", "%s holds, and the next one is answered %v (lock %v)", t.proc.name,
				err, lock)
			return
		}
		p.files.Exit()
		p.dead = true
	}
	for _, p := range w.procs {
		if !p.dead {
			w.note(p, "is killed")
			p.dead = true
			p.files.Exit()
		}
	}
	p := w.newProc(last)
	if !p.comeLast() {
		return
	}
	for _, name := range w.disk.Names(home) {
		rest := strings.TrimPrefix(name, path.Base(state))
		switch {
		case rest == "", rest == ".fence", rest == ".recovery.log",
			strings.HasPrefix(rest, ".recovered-"),
			strings.HasPrefix(rest, ".peer"), strings.HasPrefix(rest, ".lock.recovering."):
		default:
			w.monitor.fail("I6", "%s is left over", name)
		}
	}
}

// holder returns the tenure that stands now, if it does.
func (w *world) holder() *Tenure {
	for _, t := range w.monitor.tenures {
		if !t.over && t.alive() && t.record.inode == w.monitor.lock && !t.record.excused() {
			return t
		}
	}
	return nil
}

// comeLast is a whole tenure when nobody else is left.
func (p *Proc) comeLast() bool {
	w := p.w
	w.note(p, "acquires, and nobody else is left")
	lock, err := lockfile.TryAcquire(state, p.opts)
	if err != nil {
		if busy, ok := errors.AsType[*lockfile.BusyError](err); ok && w.scenario.NeedsPerson &&
			busy.Finding.Verdict == identity.Unknown {
			return false
		}
		w.monitor.fail("I4", "nobody can acquire any more without a person: %v", err)
		return false
	}
	w.monitor.acquired(p, p.acquiredAs(lock))
	p.Tenure.lock = lock
	p.Update()
	p.Release()
	return w.monitor.broken == nil
}
