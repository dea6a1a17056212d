package lockfile

import "errors"

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
	if p.prepared != nil || p.opts.FreshToken {
		return
	}
	p.counter.Keep()
	r, err := p.counter.Glance()
	if err != nil || !p.in.wasRead(r.File.Device, r.File.Inode) {
		return
	}
	d, err := p.newDraft(opAcquire, r.Token, false)
	if err != nil {
		return
	}
	if !d.unnamed {
		d.discard()
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
// none, or it cannot be used.
func (p *place) publishPrepared(withdraw func(*Lock) error) (counted, *Lock, error) {
	ready := p.prepared
	if ready == nil {
		return counted{}, nil, nil
	}
	p.prepared = nil
	if err := ready.d.renew(ready.seen.token); err != nil {
		ready.d.discard()
		return counted{}, nil, nil
	}
	lock, err := p.publishAs(ready.d, ready.seen.token, withdraw)
	if errors.Is(err, errNeedsName) {
		return counted{}, nil, nil
	}
	return ready.seen, lock, err
}
