package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Lock is a held lock. Only the process that acquired it can use it. Its methods are safe for
// concurrent use.
type Lock struct {
	tenure
	d         *draft
	recovered *Recovered
	saved     string // where a break kept a record that could not be read

	pid int

	// what is to happen when the tenure has lasted a while
	settling errand
	settle   func() // stops it, where it is not settling; nil: it is

	loss lossWatch

	mu      sync.Mutex
	leaving bool  // Release is under way: a record that is not there is no loss
	ended   error // why nothing can be done with the lock any more; nil while it is held

	// made when somebody asks for the context; nil before
	ctx    context.Context
	cancel context.CancelCauseFunc
	over   error // the cause with which it ends, or would
}

// Recovered tells of a takeover.
type Recovered struct {
	State   string           `json:"state"`
	Finding identity.Finding `json:"finding"` // the proof
	Owner   *Owner           `json:"owner"`   // who is gone; nil when the record named nobody
	LockID  string           `json:"lockID"`  // the tenure that ended
	Fence   fence.Token      `json:"fence"`   // the new number
}

// Breach tells of a record-v2 peer that took a lock away without the gate.
type Breach struct {
	State string `json:"state"`
	What  string `json:"what"` // one sentence
}

func newLock(p *place, d *draft, token fence.Token, recovered *Recovered) *Lock {
	l := &d.tenure
	l.d, l.recovered, l.pid = d, recovered, p.in.PID()
	l.tenure = tenure{p: p, token: token, lease: string(d.lease[:]), by: l}
	if p.opts.OnLost != nil || vfs.OwnerKeeps() { // a broken lock must yield
		l.watch()
	}
	return l
}

// Path returns the path of the record.
func (l *Lock) Path() string { return l.p.path(l.p.lockName()) }

// Recovered tells of the takeover that gave this lock, nil when it was free.
func (l *Lock) Recovered() *Recovered { return l.recovered }

// Check looks whether the lock is still held: the counter says our number, and our own record
// stands at the path, the same file with the same bytes. It returns nil, an error that matches
// ErrLost (ErrFenced) or ErrReleased, or another one when that could not be found out. Use Commit
// to act on it: by the time Check returns, a break may have happened.
func (l *Lock) Check() error {
	if err := l.mayCommit(); err != nil {
		return during("check", err)
	}
	err := l.check("check")
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.leaving {
		return &Error{Op: "check", Path: l.p.state(), Err: ErrReleased}
	}
	return err
}

// hasEnded returns why nobody can use the lock any more, nil while it is held.
func (l *Lock) hasEnded() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == ErrReleased {
		return &Error{Op: "use", Path: l.p.state(), Err: ErrReleased}
	}
	return l.ended
}

// mayCommit returns why this process cannot use the lock, without looking at the disk.
func (l *Lock) mayCommit() error {
	if err := l.hasEnded(); err != nil {
		return err
	}
	if pid := l.p.in.PID(); pid != l.pid {
		return l.refuse(
			fmt.Errorf("%w: process %d acquired it, this is %d", ErrNotHolder, l.pid, pid),
		)
	}
	// A restored copy of this process has its memory and its number, but started anew.
	if same := probe.Same(l.p.sys, &l.d.stand.Self); same.Known && !same.Value {
		return l.refuse(fmt.Errorf("%w: another process acquired it, of which this is a copy",
			ErrNotHolder))
	}
	return nil
}

func (l *Lock) refuse(err error) error {
	return &Error{Op: "use", Path: l.p.state(), Step: "compare the process", Err: err}
}

// stands compares the file at S.lock with the one that this tenure published.
func (l *Lock) stands() (bool, error) { return l.d.stands() }

// markLost ends the lock once, and tells everybody who waits for that.
func (l *Lock) markLost(err error) {
	l.mu.Lock()
	first := l.ended == nil && !l.leaving
	if first {
		l.ended = err
	}
	l.mu.Unlock()
	if !first {
		return
	}
	l.finish(err)
	if vfs.OwnerKeeps() && errors.Is(err, ErrFenced) {
		l.yield()
	}
	if what := l.p.breach(l.lease); what != "" && l.p.opts.OnBreach != nil {
		l.p.in.Go(func() { l.p.opts.OnBreach(Breach{State: l.p.state(), What: what}) })
	}
	if hook := l.p.opts.OnLost; hook != nil {
		l.p.in.Go(func() { hook(err) })
	}
}

// Release gives the lock up: it removes the record, if that is still ours, and ends Context. It
// works after contexts ended and on a full disk, and waits for the gate no longer than
// Options.GateWait.
//
// An error that matches ErrLost says that the lock was not held any more, and nothing was touched.
// After any other error the lock is still held, and Release can be called again. A second call
// after success fails with ErrReleased.
func (l *Lock) Release() error {
	const op = "release"
	l.mu.Lock()
	released := errors.Is(l.ended, ErrReleased)
	l.mu.Unlock()
	if released {
		return &Error{Op: op, Path: l.p.state(), Err: ErrReleased}
	}
	if err := l.mayCommit(); errors.Is(err, ErrNotHolder) {
		return err
	}
	l.p.enter()
	defer l.p.leave()
	gate, done, err := l.p.holdGateSpared(op)
	if err != nil {
		return l.ungated(op, err)
	}
	defer done()
	defer gate.Release()
	err = l.releaseUnder(gate)
	if err == nil || errors.Is(err, ErrLost) {
		l.p.close()
	}
	return err
}

// ungated is Release where no gate could be had because of err. In a directory that was removed
// none can be made any more, and the record is gone with it: that ends the lock.
func (l *Lock) ungated(op string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if stands, e := l.stands(); e != nil || stands {
		return err
	}
	l.mu.Lock()
	lost := l.ended
	l.mu.Unlock()
	lost = l.noticed(nil, lost)
	l.end(false)
	l.p.close()
	return during(op, lost)
}

// releaseUnder is Release with the gate held. It leaves the place open.
func (l *Lock) releaseUnder(gate fence.Gate) error {
	const op = "release"
	l.mu.Lock()
	lost := l.ended
	l.mu.Unlock()
	ours, err := l.stands()
	if err != nil {
		return l.p.failed(op, "look at the record", l.p.lockName(), err)
	}
	switch {
	case ours:
		// Whatever the counter says: a breaker may have crashed half-way, or wait for this.
		l.setLeaving(true)
		if err := l.p.dir.Remove(l.p.lockName()); err != nil {
			l.setLeaving(false)
			if ours = !errors.Is(err, fs.ErrNotExist); ours {
				return l.p.failed(op, "remove the record", l.p.lockName(), err)
			}
			// It was taken away since, without the gate: by a record-v2 peer, or by yield.
			lost = l.noticed(gate, lost)
		}
		if vfs.OwnerKeeps() && lost == nil {
			if now, err := gate.Current(); err == nil && now != l.token {
				lost = l.fenced(op, now) // a breaker was first, see breakKept
				l.setLeaving(false)
				l.markLost(lost)
			}
		}
	default:
		lost = l.noticed(gate, lost)
	}
	if !ours {
		l.removeCopy()
	}
	if ours && lost == nil {
		l.p.in.gives(l.p.asked, l.d)
	}
	l.end(ours)
	if lost != nil {
		return during(op, lost)
	}
	return nil
}

func (l *Lock) setLeaving(leaving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving = leaving
}

// noticed returns how a lock was lost whose record does not stand any more: as lost says, or if
// that is nil as it is found out now.
func (l *Lock) noticed(gate fence.Gate, lost error) error {
	if lost == nil {
		lost = l.lossOf(gate)
		l.markLost(lost)
	}
	return lost
}

// lossOf says how a lock was lost whose record does not stand any more. Without a gate nothing is
// known of the counter.
func (l *Lock) lossOf(gate fence.Gate) error {
	if gate != nil {
		if now, err := gate.Current(); err == nil && now > l.token {
			return l.fenced("release", now)
		}
	}
	return l.gone("release")
}

// removeCopy removes a record with our lease that is not our file: a peer that took the record away
// and put a copy back. Nobody else may, and it would look alive as long as this process is.
func (l *Lock) removeCopy() {
	s, err := l.p.read()
	if err == nil && s.record != nil && s.record.Lease == l.lease {
		_ = l.p.dir.Remove(l.p.lockName())
	}
}

// end gives back what a held lock keeps. removed says that its record has no name any more.
func (l *Lock) end(removed bool) {
	l.mu.Lock()
	l.ended = ErrReleased
	if l.settle != nil {
		l.settle()
	}
	l.mu.Unlock()
	l.settling.stop()
	l.unwatch()
	l.finish(ErrReleased)
	if removed {
		l.d.forget()
	} else {
		l.d.discard()
	}
}

func (l *Lock) withdrawNow() error       { return l.withdraw(false) }
func (l *Lock) withdrawPatiently() error { return l.withdraw(true) }

// withdraw gives up a lock that was published but not handed out. While the gate is busy, and this
// call must not wait or has waited long enough, the record stays locked, so that it honestly reads
// as alive, and a goroutine removes it as soon as it can, which is the one thing that outlives a
// call.
func (l *Lock) withdraw(wait bool) error {
	gate, done, err := (fence.Gate)(nil), func() {}, error(nil)
	if wait {
		gate, done, err = l.p.holdGateSpared(opAcquire)
	} else {
		gate, err = l.p.gate(context.Background(), opAcquire, false)
	}
	if err != nil {
		l.withdrawLater()
		return err
	}
	defer done()
	defer gate.Release()
	return l.withdrawUnder(gate)
}

// withdrawUnder is withdraw with the gate held. A record that is not there any more is withdrawn.
func (l *Lock) withdrawUnder(gate fence.Gate) error {
	if err := l.giveUp(gate); !errors.Is(err, ErrLost) {
		return err
	}
	return nil
}

// giveUp is releaseUnder for a lock that nobody was given, so that nobody can try again: what
// cannot be removed now is removed later.
func (l *Lock) giveUp(gate fence.Gate) error {
	err := l.releaseUnder(gate)
	if err != nil && !errors.Is(err, ErrLost) {
		l.withdrawLater()
	}
	return err
}

func (l *Lock) withdrawLater() {
	l.p.kept = true
	l.p.in.Go(func() {
		defer func() { _ = l.p.shut() }()
		pause := pause{in: l.p.in, most: time.Second}
		for told := false; ; told = true {
			_ = pause.wait(context.Background())
			gate, done, err := l.p.holdGateSpared(opAcquire)
			if err == nil {
				err = l.releaseUnder(gate)
				_ = gate.Release()
				done()
			}
			if err == nil || errors.Is(err, ErrLost) {
				return
			}
			if !told {
				l.p.opts.log().
					Warn("a record that nobody uses cannot be removed yet", "path", l.Path(),
						"error", err)
			}
		}
	})
}

// Names of the environment variables that a command below a lock gets.
const (
	EnvState  = "PROBATE_STATE"
	EnvLock   = "PROBATE_LOCK"
	EnvLockID = "PROBATE_LOCK_ID"
	EnvFence  = "PROBATE_FENCE"
	EnvLease  = "PROBATE_LEASE"
)

// Environ returns the variables for a command that works under this lock, see Inherit: the paths of
// state and record, the public id, the fence number, and the lease, which is a secret: whoever has
// it can commit as long as the lock stands.
func (l *Lock) Environ() []string {
	return []string{
		EnvState + "=" + l.p.state(),
		EnvLock + "=" + l.Path(),
		EnvLockID + "=" + l.ID(),
		EnvFence + "=" + strconv.FormatUint(uint64(l.token), 10),
		EnvLease + "=" + l.lease,
	}
}

// Handle returns the descriptor of the record. A child process that inherits it keeps the kernel
// lock alive, so that nobody takes over while any of it lives, even if this process is killed. It
// stays valid until Release, which takes away the record that the kernel lock speaks for.
func (l *Lock) Handle() uintptr { return l.d.file.Handle() }

// String names the tenure without its secret.
func (l *Lock) String() string { return l.describe() }

// GoString keeps the secret out of %#v.
func (l *Lock) GoString() string { return "lockfile.Lock " + l.describe() }
