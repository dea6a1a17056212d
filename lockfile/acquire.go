package lockfile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/probe"
)

// Acquire takes the lock of the state path. It waits while the owner lives, until ctx ends, and
// takes the lock over when its owner is provably gone. A lock that cannot be judged is refused
// after a few looks, unless Options.WaitUnknown. The state need not exist; its directory must.
//
// Errors are *BusyError (matching ErrBusy, and when ctx ended the wait its Err and its cause), or
// *Error with the step that failed. After an error nothing is held, and nothing is left behind, but
// for a record that could not be withdrawn because the gate was busy: a goroutine removes it as
// soon as it can.
func Acquire(ctx context.Context, path string, opts Options) (*Lock, error) {
	return acquire(ctx, path, &opts, true)
}

// TryAcquire is Acquire without any waiting: a busy lock is a *BusyError at once, and so is a busy
// gate. It takes over an abandoned lock as Acquire does.
func TryAcquire(path string, opts Options) (*Lock, error) {
	return acquire(context.Background(), path, &opts, false)
}

const (
	opAcquire = "acquire"
	// unknownLooks is how often a verdict that may be due to a moment is asked again.
	unknownLooks = 8
	// mostRaces is how often in a row others may be faster without ever being seen to hold the
	// lock: far more than contention explains. It ends the loop on a filesystem that contradicts
	// itself.
	mostRaces = 1000
)

func acquire(ctx context.Context, path string, opts *Options, wait bool) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Op: opAcquire, Path: path, Step: "begin", Err: ended.Cause(ctx)}
	}
	p, err := openPlaceToChange(opAcquire, path, opts)
	if err != nil {
		return nil, err
	}
	lock, err := p.acquire(ctx, wait)
	if err != nil {
		p.close()
		return nil, err
	}
	return lock, nil
}

// acquire looks until the lock is ours, or refused.
func (p *place) acquire(ctx context.Context, wait bool) (acquired *Lock, failed error) {
	unknown, races, told := 0, 0, ""
	w := waiting{p: p, pause: pause{in: p.in, most: longestPause}}
	defer func() { w.end(acquired != nil) }()
	for unseen := p.in.gaveBack(p.asked) != nil; ; unseen = false {
		s, err := sighting{finding: nobody}, error(nil)
		if !unseen { // else to publish says whether it is free
			s, err = p.look()
		}
		if err != nil {
			return nil, p.failed(opAcquire, "look at the record", p.lockName(), err)
		}
		var lock *Lock
		if !s.free() {
			p.sweepOnce()
		}
		switch s.finding.Verdict {
		case identity.Free:
			if wait && !w.turn() {
				if cause := w.giveWay(ctx); cause != nil {
					return nil, p.busy(opAcquire, s, cause)
				}
				continue
			}
			lock, err = p.acquireFree(ctx, wait)
		case identity.Gone:
			if why := p.opts.mayRecover(); why != "" {
				return nil, p.busy(opAcquire, s, errors.New(why))
			}
			lock, err = p.acquireAbandoned(ctx, s, wait)
		case identity.Unknown:
			if unknown++; !p.opts.WaitUnknown && (!s.transient() || unknown >= unknownLooks) {
				return nil, p.busy(opAcquire, s, nil)
			}
			err = errTaken
		default:
			unknown, races = 0, 0
			err = errTaken
		}
		switch {
		case err == nil:
			return lock, nil
		case errors.Is(err, ErrGateBusy):
			return nil, p.busy(opAcquire, s, err)
		case errors.Is(err, errMoved):
			if unseen {
				p.in.given.Store(nil)
			}
			if races++; races > mostRaces {
				return nil, p.contradicted(races)
			}
			if cause := p.raced(ctx, wait && races > 1); cause != nil {
				return nil, p.busy(opAcquire, s, cause)
			}
			continue
		case err != errTaken:
			return nil, err
		case !wait:
			return nil, p.busy(opAcquire, s, nil)
		}
		if now := s.lockID + string(s.finding.Reason); now != told && p.opts.OnWaiting != nil &&
			(s.finding.Verdict == identity.Alive || p.opts.WaitUnknown) {
			told = now
			p.opts.OnWaiting(p.inspection(&s))
		}
		switch lock, err := w.wait(ctx, s); {
		case lock != nil:
			return lock, nil
		case err != nil && ctx.Err() != nil, errors.Is(err, ErrGateBusy):
			return nil, p.busy(opAcquire, s, err)
		case err != nil:
			return nil, err
		}
	}
}

var (
	// errMoved says that what was seen changed before it could be acted upon: look again.
	errMoved = errors.New("it changed hands meanwhile")
	// errTaken says that somebody has the lock, or may have it: wait, or refuse.
	errTaken = errors.New("somebody has the lock")
)

// contradicted ends an acquire that would go on for ever.
func (p *place) contradicted(races int) error {
	return &Error{Op: opAcquire, Path: p.state(), Step: "publish the record",
		Err: fmt.Errorf(
			"somebody else was first %d times in a row, and yet nobody holds it",
			races,
		),
		Next: "look at the filesystem: it says that names exist that do not"}
}

// raced waits for a moment after a race that somebody else won.
func (p *place) raced(ctx context.Context, wait bool) error {
	if !wait {
		return nil
	}
	pause := pause{in: p.in, most: time.Millisecond}
	return pause.wait(ctx)
}

// acquireAbandoned takes over what the sighting judged gone. errMoved says that this changed.
func (p *place) acquireAbandoned(ctx context.Context, s sighting, wait bool) (*Lock, error) {
	if err := p.probesAreSane(); err != nil {
		return nil, p.busy(opAcquire, s, err)
	}
	gate, err := p.gate(ctx, opAcquire, wait)
	if err != nil {
		return nil, err
	}
	lock, err := p.takeover(gate, takeoverRequest{op: opAcquire, event: EventTakeover, judged: s,
		by: p.thisProcess()})
	_ = gate.Release()
	if err != nil {
		return nil, err
	}
	p.tellRecovered(lock)
	return lock, nil
}

// tellRecovered calls the hook, outside the gate.
func (p *place) tellRecovered(lock *Lock) {
	if p.opts.OnRecovered != nil {
		p.opts.OnRecovered(*lock.recovered)
	}
}

// probesAreSane checks the probes once before the first takeover of a process: a probe that
// contradicts itself switches takeovers off, never on.
func (p *place) probesAreSane() error {
	check := &p.in.selfCheck
	check.Lock()
	defer check.Unlock()
	isReal := p.opts.System == nil
	if isReal && check.sane {
		return nil
	}
	if err := probe.SelfCheck(p.sys); err != nil {
		return fmt.Errorf(
			"recovery is switched off, the probes of this system contradict themselves: %w",
			err,
		)
	}
	check.sane = check.sane || isReal
	return nil
}

// busy makes the answer for a lock that is not ours to take.
func (p *place) busy(op string, s sighting, cause error) error {
	p.nameOpeners(&s)
	return &BusyError{Inspection: p.inspection(&s), Cause: cause, Op: op}
}

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}
