package lockfile

import (
	"errors"
	"io/fs"

	"github.com/probate-dev/probate/fence"
)

// prepared is a record that was written while its process waited: to publish it is all that is left
// to do when the lock gets free. It has no name and is locked, so that nobody sees it, and it is
// gone with its process.
type prepared struct {
	d    *draft
	seen counted
}

// prepare writes a record for the next acquire, where that is possible without anybody noticing.
// That the counter says the same after the record is published covers the whole wait: it never
// goes back.
func (p *place) prepare() {
	if p.prepared != nil || p.needsName || p.opts.FreshToken {
		return
	}
	p.counter.Keep()
	r := new(fence.Reading)
	if p.counter.Glance(r) != nil {
		return
	}
	if !p.in.wasRead(r.File.Device, r.File.Inode) {
		if logged, err := p.lastLoggedFence(); err != nil || logged > r.Token {
			return // openFence repairs it, or is told why not
		}
		p.in.firstRead(r.File.Device, r.File.Inode)
	}
	d, err := p.newDraft(opAcquire, r.Token, false)
	if err != nil {
		return
	}
	if !d.unnamed {
		d.discard()
		p.needsName = true
		return
	}
	p.prepared = &prepared{d, counted{r.Token, r}}
}

// unprepare throws away what was not used.
func (p *place) unprepare() {
	if p.prepared != nil {
		p.prepared.d.discard()
		p.prepared = nil
	}
}

// publishPrepared publishes the prepared record, as of now. Neither a lock nor an error: there is
// none, or it cannot be used. errTaken says that somebody has the lock, and that the record can be
// used again.
func (p *place) publishPrepared(withdraw func(*Lock) error) (counted, *Lock, error) {
	ready := p.prepared
	if ready == nil {
		return counted{}, nil, nil
	}
	p.prepared = nil
	if err := ready.d.renew(); err != nil {
		ready.d.discard()
		return counted{}, nil, nil
	}
	err := ready.d.publish()
	if errors.Is(err, fs.ErrExist) {
		p.prepared = ready
		return counted{}, nil, errTaken
	}
	lock, err := p.published(ready.d, err, ready.seen.token, withdraw)
	if errors.Is(err, errNeedsName) {
		return counted{}, nil, nil
	}
	return ready.seen, lock, err
}

// acquirePrepared is acquireFree for a waiter that was woken and has its record ready, and has not
// looked: that publishing succeeds says that the name was free. Neither a lock nor an error: look.
func (p *place) acquirePrepared() (*Lock, error) {
	seen, lock, err := p.publishPrepared((*Lock).withdrawPatiently)
	if lock != nil {
		lock, err = p.confirm(seen, lock, (*Lock).withdrawPatiently)
	}
	if errors.Is(err, errMoved) {
		return nil, nil
	}
	return lock, err
}
