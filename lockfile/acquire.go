package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
)

// Acquire takes the lock of the state path. It waits while the owner lives, until ctx ends, and takes
// the lock over when its owner is provably gone. A lock that cannot be judged is refused after a few
// looks, unless Options.WaitUnknown. The state need not exist; its directory must.
//
// Errors are *BusyError (matching ErrBusy, and the cause of ctx when that ended the wait), or *Error
// with the step that failed. After an error nothing is held and nothing is left behind.
func Acquire(ctx context.Context, path string, opts Options) (*Lock, error) {
	return acquire(ctx, path, opts, true)
}

// TryAcquire is Acquire without any waiting: a busy lock is a *BusyError at once, and so is a busy
// gate. It takes over an abandoned lock as Acquire does.
func TryAcquire(path string, opts Options) (*Lock, error) {
	return acquire(context.Background(), path, opts, false)
}

const (
	opAcquire = "acquire"
	// longestPause between two looks at a living owner.
	longestPause = 50 * time.Millisecond
	// unknownLooks is how often a verdict that may be due to a moment is asked again.
	unknownLooks = 8
)

func acquire(ctx context.Context, path string, opts Options, wait bool) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Op: opAcquire, Path: path, Step: "begin", Err: context.Cause(ctx)}
	}
	p, err := openPlace(opAcquire, path, opts)
	if err != nil {
		return nil, err
	}
	keepSpare()
	lock, err := p.acquire(ctx, wait)
	if err != nil {
		p.close()
		return nil, err
	}
	return lock, nil
}

func (p *place) acquire(ctx context.Context, wait bool) (*Lock, error) {
	p.sweepOnce()
	pause, unknown, told := pause{most: longestPause}, 0, ""
	for {
		s, err := p.look()
		if err != nil {
			return nil, p.failed(opAcquire, "look at the record", p.lockName(), err)
		}
		refuse := error(nil) // set: this is the answer unless the caller waits
		switch s.finding.Verdict {
		case identity.Free:
			lock, err := p.acquireFree(ctx, wait)
			if lock != nil || err != nil {
				return lock, err
			}
			continue // somebody else was first
		case identity.Gone:
			if why := p.opts.mayRecover(); why != "" {
				return nil, p.busy(opAcquire, s, errors.New(why))
			}
			lock, err := p.acquireAbandoned(ctx, s, wait)
			if lock != nil || err != nil {
				return lock, err
			}
			continue // it changed hands meanwhile
		case identity.Unknown:
			if unknown++; !p.opts.WaitUnknown && (!s.transient() || unknown >= unknownLooks) {
				return nil, p.busy(opAcquire, s, nil)
			}
			refuse = p.busy(opAcquire, s, nil)
		default:
			unknown = 0
			refuse = p.busy(opAcquire, s, nil)
		}
		if !wait {
			return nil, refuse
		}
		if now := s.lockID + string(s.finding.Reason); now != told && p.opts.OnWaiting != nil &&
			(s.finding.Verdict == identity.Alive || p.opts.WaitUnknown) {
			told = now
			p.opts.OnWaiting(p.inspection(s))
		}
		if cause := pause.wait(ctx); cause != nil {
			return nil, p.busy(opAcquire, s, cause)
		}
	}
}

// acquireFree publishes a record where there is none. It returns nil, nil when somebody was faster.
func (p *place) acquireFree(ctx context.Context, wait bool) (*Lock, error) {
	token, err := p.openFence(ctx, wait)
	if err != nil {
		return nil, err
	}
	next := token
	if p.opts.FreshToken {
		next++
	}
	d, err := p.newDraft(opAcquire, next)
	if err != nil {
		return nil, err
	}
	switch err := d.publish(); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, errSwept):
		d.discard()
		return nil, nil
	case err != nil:
		d.discard()
		return nil, p.failed(opAcquire, "publish the record", p.lockName(), err)
	}
	lock := newLock(p, d, next, nil)
	// The counter moves only under a takeover or break. One that went on while this record was being
	// published may have thought this lock's name free: begin again.
	now, err := p.counter.Current()
	if err == nil && now == token && p.opts.FreshToken {
		err = p.raiseFresh(ctx, token, next)
		now = token
	}
	switch {
	case err != nil && !errors.Is(err, errMoved):
		_ = lock.withdraw()
		return nil, p.failed(opAcquire, "read the fence again", p.fenceName(), err)
	case err != nil || now != token:
		if err := lock.withdraw(); err != nil {
			return nil, err
		}
		return nil, nil
	}
	lock.flushLater()
	return lock, nil
}

// errMoved says that what was judged changed before it could be acted upon.
var errMoved = errors.New("it changed hands meanwhile")

// raiseFresh gives this tenure a number of its own.
func (p *place) raiseFresh(ctx context.Context, from, to fence.Token) error {
	gate, err := p.holdGate(ctx, opAcquire)
	if err != nil {
		return err
	}
	defer gate.Release()
	if now, err := gate.Current(); err != nil {
		return err
	} else if now != from {
		return errMoved
	}
	return gate.Raise(to)
}

// openFence reads the counter. A fence that is missing or damaged is made or repaired under the gate.
func (p *place) openFence(ctx context.Context, wait bool) (fence.Token, error) {
	info, err := p.dir.Stat(p.fenceName())
	if err == nil && info.Mode.IsRegular() {
		token, err := p.counter.Current()
		if err == nil || !errors.Is(err, fence.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				err = p.failed(opAcquire, "read the fence", p.fenceName(), err)
			}
			return token, err
		}
	}
	var gate fence.Gate
	if wait {
		gate, err = p.holdGate(ctx, opAcquire)
	} else {
		gate, err = p.tryGate(opAcquire)
	}
	if err != nil {
		return 0, err
	}
	defer gate.Release()
	token, err := gate.Current()
	if err != nil {
		return 0, p.failed(opAcquire, "read the fence", p.fenceName(), err)
	}
	return token, nil
}

// acquireAbandoned takes over what the sighting judged gone. It returns nil, nil when that changed.
func (p *place) acquireAbandoned(ctx context.Context, s sighting, wait bool) (*Lock, error) {
	if err := p.probesAreSane(); err != nil {
		return nil, p.busy(opAcquire, s, err)
	}
	var gate fence.Gate
	var err error
	if wait {
		gate, err = p.holdGate(ctx, opAcquire)
	} else {
		gate, err = p.tryGate(opAcquire)
	}
	if err != nil {
		if errors.Is(err, ErrGateBusy) {
			err = p.busy(opAcquire, s, err)
		}
		return nil, err
	}
	defer gate.Release()
	lock, err := p.takeover(gate, takeoverRequest{op: opAcquire, event: EventTakeover, judged: s,
		by: p.thisProcess()})
	if errors.Is(err, errMoved) {
		return nil, nil
	}
	return lock, err
}

// selfCheck remembers that the real system's probes were found sane.
var selfCheck struct {
	sync.Mutex
	sane map[probe.System]bool
}

// probesAreSane checks the probes once before the first takeover of a process: a probe that
// contradicts itself switches takeovers off, never on.
func (p *place) probesAreSane() error {
	selfCheck.Lock()
	defer selfCheck.Unlock()
	if selfCheck.sane[p.sys] {
		return nil
	}
	if err := probe.SelfCheck(p.sys); err != nil {
		return fmt.Errorf("recovery is switched off, the probes of this system contradict themselves: %w", err)
	}
	if selfCheck.sane == nil {
		selfCheck.sane = map[probe.System]bool{}
	}
	if p.opts.System == nil {
		selfCheck.sane[p.sys] = true
	}
	return nil
}

// busy makes the answer for a lock that is not ours to take.
func (p *place) busy(op string, s sighting, cause error) error {
	return &BusyError{Inspection: p.inspection(s), Cause: cause, Op: op}
}

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}
