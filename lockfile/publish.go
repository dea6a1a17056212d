package lockfile

import (
	"context"
	"errors"
	"io/fs"

	"github.com/probate-dev/probate/fence"
)

// acquireFree publishes a record where there is none. errMoved says that somebody was faster.
func (p *place) acquireFree(ctx context.Context, wait bool) (*Lock, error) {
	if p.opts.FreshToken {
		return p.acquireFresh(ctx, wait)
	}
	withdraw := (*Lock).withdrawNow
	if wait {
		withdraw = (*Lock).withdrawPatiently
	}
	seen, lock, err := p.publishPrepared(withdraw)
	if lock == nil && err == nil {
		if seen, err = p.openFence(ctx, wait); err != nil {
			return nil, err
		}
		lock, err = p.publish(seen.token, withdraw)
	}
	switch {
	case err == errTaken:
		return nil, errMoved // it was free a moment ago
	case err != nil:
		return nil, err
	}
	return p.confirm(seen, lock, withdraw)
}

// confirm makes sure of a lock that was just published. One that cannot be handed out is withdrawn,
// and errMoved says that this is for a counter that has moved.
func (p *place) confirm(seen counted, lock *Lock, withdraw func(*Lock) error) (*Lock, error) {
	// The counter moves only under a takeover or break. One that went on while this record was
	// being published may have thought this lock's name free: begin again.
	same, err := p.unmoved(seen)
	if err == nil && same {
		lock.settleLater()
		return lock, nil
	}
	if e := withdraw(lock); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, p.failed(opAcquire, "read the fence again", p.fenceName(), err)
	}
	return nil, errMoved
}

// counted is what the counter said before a record was published.
type counted struct {
	token   fence.Token
	reading *fence.Reading // nil: it was read inside the gate
}

// unmoved reports that the counter is what it was. One look before and one after are enough, also
// where a look may meet a write half-way: they only agree on a number that was there.
func (p *place) unmoved(seen counted) (bool, error) {
	if seen.reading != nil {
		return seen.reading.Confirm()
	}
	now, err := p.counter.Current()
	return now == seen.token, err
}

// acquireFresh is acquireFree with a number of its own for this tenure: in one hold of the gate the
// record is published with the next number, and then the counter raised to it.
func (p *place) acquireFresh(ctx context.Context, wait bool) (*Lock, error) {
	gate, err := p.gate(ctx, opAcquire, wait)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	token, err := gate.Current()
	if err != nil {
		return nil, p.failed(opAcquire, "read the fence", p.fenceName(), err)
	}
	withdraw := func(l *Lock) error { return l.withdrawUnder(gate) }
	lock, err := p.publish(token+1, withdraw)
	if err != nil {
		return nil, err
	}
	if err := gate.Raise(token + 1); err != nil {
		err = errors.Join(err, withdraw(lock))
		return nil, p.failed(opAcquire, "raise the fence", p.fenceName(), err)
	}
	lock.settleLater()
	return lock, nil
}

// publish makes a record with that number and gives it its name. withdraw is how to take one back
// that has its name and cannot be handed out.
func (p *place) publish(token fence.Token, withdraw func(*Lock) error) (*Lock, error) {
	lock, err := p.publishDraft(token, false, withdraw)
	if errors.Is(err, errNeedsName) {
		lock, err = p.publishDraft(token, true, withdraw)
	}
	return lock, err
}

func (p *place) publishDraft(
	token fence.Token,
	named bool,
	withdraw func(*Lock) error,
) (*Lock, error) {
	d, err := p.newDraft(opAcquire, token, named)
	if err != nil {
		return nil, err
	}
	return p.published(d, d.publish(), token, withdraw)
}

// published makes a lock of a draft whose publishing came to err.
func (p *place) published(d *draft, err error, token fence.Token, withdraw func(*Lock) error) (
	*Lock, error) {
	switch {
	case err == nil:
		return newLock(p, d, token, nil), nil
	case errors.Is(err, errNeedsName):
		d.discard()
		return nil, err
	case errors.Is(err, errUnflushed):
		err = errors.Join(err, withdraw(newLock(p, d, token, nil)))
		return nil, p.failed(opAcquire, "flush the directory", p.lockName(), err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, errSwept):
		d.discard()
		return nil, errMoved
	default:
		d.discard()
		return nil, p.failed(opAcquire, "publish the record", p.lockName(), err)
	}
}

// openFence reads the counter. One that is missing or damaged is made or repaired under the gate,
// and so is one that is below the recovery log when this process reads it for the first time:
// somebody put an old file back. The first time is also when what crashed processes left is swept.
func (p *place) openFence(ctx context.Context, wait bool) (counted, error) {
	p.counter.Keep()
	r := &p.reading
	err := p.counter.Glance(r)
	switch {
	case err == nil:
		if !p.in.firstRead(r.File.Device, r.File.Inode) {
			return counted{r.Token, r}, nil
		}
		p.sweepOnce()
		token, err := p.counter.Current()
		if err != nil {
			break
		}
		logged, err := p.lastLoggedFence()
		if err != nil {
			return counted{}, p.failed(opAcquire, "read the recovery log", p.logName(), err)
		}
		if logged <= token {
			return counted{token: token}, nil
		}
	case !errors.Is(err, fence.ErrDamaged) && !errors.Is(err, fs.ErrNotExist):
		return counted{}, p.failed(opAcquire, "read the fence", p.fenceName(), err)
	default:
		p.sweepOnce()
	}
	token, err := p.repairFence(ctx, wait)
	return counted{token: token}, err
}

// repairFence makes or repairs the counter, under the gate.
func (p *place) repairFence(ctx context.Context, wait bool) (fence.Token, error) {
	gate, err := p.gate(ctx, opAcquire, wait)
	if err != nil {
		return 0, err
	}
	defer gate.Release()
	token, err := gate.Current()
	if err != nil {
		return 0, p.failed(opAcquire, "read the fence", p.fenceName(), err)
	}
	logged, err := p.loggedFence()
	if err != nil {
		return 0, p.failed(opAcquire, "read the recovery log", p.logName(), err)
	}
	if logged > token {
		switch err := gate.Raise(logged); {
		case errors.Is(err, fence.ErrNotGreater), errors.Is(err, fence.ErrDamaged):
			return 0, errMoved // a record-v2 peer, which takes no gate, has just written it
		case err != nil:
			return 0, p.failed(opAcquire, "raise the fence", p.fenceName(), err)
		}
		p.opts.log().Warn("fence repaired", "path", p.path(p.fenceName()), "was", token.String(),
			"now", logged)
		token = logged
	}
	return token, nil
}

// wasRead reports whether this process has compared that fence with its log.
func (in *process) wasRead(device, inode uint64) bool {
	in.fencesRead.Lock()
	defer in.fencesRead.Unlock()
	return in.fencesRead.seen[[2]uint64{device, inode}]
}

// firstRead reports whether this process has not yet compared that fence with its log.
func (in *process) firstRead(device, inode uint64) bool {
	read := &in.fencesRead
	read.Lock()
	defer read.Unlock()
	key := [2]uint64{device, inode}
	if read.seen[key] {
		return false
	}
	if read.seen == nil {
		read.seen = map[[2]uint64]bool{}
	}
	read.seen[key] = true
	return true
}
