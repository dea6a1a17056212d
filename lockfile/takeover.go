package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
)

// takeoverRequest says which lock is to be taken from whom, and on whose word.
type takeoverRequest struct {
	op     string
	event  string   // EventTakeover: the verdict must be gone; EventBreak: a person decided
	judged sighting // what was judged before the gate was taken
	reason string   // a person's words; the reason code of the verdict when empty
	by     string
}

// takeover puts a record of this process in the place of the judged one, with the gate held: see
// DESIGN.md. errMoved says that something else stands there by now, and nothing was changed.
//
// The order is what makes a crash at any point harmless: nothing is logged before everything that
// can fail for want of space is on the disk; the log is flushed before the counter, so that no
// number in use is above the log's; the counter is flushed before the exchange, so that an owner
// that was overtaken is refused from then on.
func (p *place) takeover(gate fence.Gate, req takeoverRequest) (lock *Lock, err error) {
	s, err := p.judgeAgain(req)
	if err != nil {
		return nil, err
	}
	token, err := p.nextToken(gate, req.op, s)
	if err != nil {
		return nil, err
	}
	d, err := p.newDraft(req.op, token, true)
	if err != nil {
		return nil, err
	}
	unmark, err := p.mark(s)
	if err != nil {
		d.discard()
		return nil, p.failed(req.op, "create the marker", p.base+markerInfix+anyName, err)
	}
	reason := req.reason
	if reason == "" {
		reason = string(s.finding.Reason)
	}
	if err := p.appendLog(p.newEntry(req.event, s, token, reason, req.by)); err != nil {
		unmark()
		d.discard()
		return nil, p.failed(req.op, "write the recovery log", p.logName(), err)
	}
	abandon := func(step, name string, err error) error {
		d.discard()
		e := p.newEntry(EventAbandoned, s, token, err.Error(), req.by)
		if logErr := p.appendLog(e); logErr != nil {
			p.opts.log().Warn("recovery log", "path", p.path(p.logName()), "error", logErr)
		}
		if errors.Is(err, errMoved) {
			return errMoved
		}
		return p.failed(req.op, step, name, err)
	}
	err = gate.Raise(token)
	if errors.Is(err, fence.ErrNotGreater) || errors.Is(err, fence.ErrDamaged) {
		// A record-v2 peer, which does not use the gate, wrote it since it was read.
		return nil, abandon("", "", fmt.Errorf("%w: %w", errMoved, err))
	}
	if err != nil {
		return nil, abandon("raise the fence", p.fenceName(), err)
	}
	old, err := p.replace(d, s)
	if err != nil {
		return nil, abandon("put the new record in place", p.lockName(), err)
	}
	saved := p.dispose(old, s)
	lock = newLock(p, d, token, &Recovered{State: p.state(), Finding: s.finding, Owner: ownerOf(&s),
		LockID: s.lockID, Fence: token})
	lock.saved = saved
	p.sweep()
	if err := p.flushPublished(); err != nil {
		return nil, p.failed(req.op, "flush the directory", p.lockName(),
			errors.Join(err, lock.giveUp(gate)))
	}
	lock.settleLater()
	return lock, nil
}

// nextToken returns the number after the largest that may be in use.
func (p *place) nextToken(gate fence.Gate, op string, s sighting) (fence.Token, error) {
	current, err := gate.Current()
	if err != nil {
		return 0, p.failed(op, "read the fence", p.fenceName(), err)
	}
	logged, err := p.loggedFence()
	if err != nil {
		return 0, p.failed(op, "read the recovery log", p.logName(), err)
	}
	token := max(current, logged, s.fence())
	if token++; token > fence.Max {
		return 0, p.failed(op, "choose the next fence number", p.fenceName(), fence.ErrTooLarge)
	}
	return token, nil
}

// judgeAgain looks once more, under the gate. For a takeover it must be the judged file with the
// judged bytes, and the verdict still gone; for a break it must be the tenure that was named.
func (p *place) judgeAgain(req takeoverRequest) (sighting, error) {
	s, err := p.look()
	if err != nil {
		return s, p.failed(req.op, "look at the record", p.lockName(), err)
	}
	if s.flaw.unread() && !req.judged.flaw.unread() {
		return s, p.failed(req.op, "read the record again", p.lockName(), s.flaw.detail)
	}
	if s.free() || s.lockID != req.judged.lockID || !s.info.SameFile(req.judged.info) ||
		!bytes.Equal(s.content, req.judged.content) {
		return s, errMoved
	}
	if req.event == EventTakeover && s.finding.Verdict != identity.Gone {
		return s, errMoved
	}
	return s, nil
}

// replace puts the draft at S.lock and returns the name under which the old file lies now, "" when
// there is none any more. errMoved says that another file than the judged one stood there, and
// stands there again.
func (p *place) replace(d *draft, s sighting) (old string, err error) {
	lock := p.lockName()
	if old, can, err := p.takeOut(d, s); can {
		return old, err
	}
	err = p.dir.Exchange(d.temp, lock)
	switch {
	case err == nil:
		return p.afterExchange(d, s)
	case errors.Is(err, fs.ErrNotExist):
		// The name is free: somebody removed the dead file. (Or swept the draft: then publish says
		// so.)
		return "", p.publishFor(d)
	case !vfs.NoLinks(err):
		return "", err
	}
	aside := p.tempName()
	if err := p.dir.Rename(lock, aside); errors.Is(err, fs.ErrNotExist) {
		return "", p.publishFor(d)
	} else if err != nil {
		return "", err
	}
	if is, err := p.isJudged(aside, s); !is {
		return "", instead(p.putBack(aside, lock), err)
	}
	if err := p.publishFor(d); err != nil {
		_ = p.dir.Remove(aside) // the dead file: its number is overtaken, nobody needs it
		return "", err
	}
	return aside, nil
}

func (p *place) publishFor(d *draft) error {
	err := d.publish()
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errSwept) {
		return errMoved
	}
	return err
}

// afterExchange looks at what came out. The dead owner's file: the lock is ours, and its name was
// never free. Anything else, such as a record of a peer that acquired in between, goes back.
func (p *place) afterExchange(d *draft, s sighting) (old string, err error) {
	caught := d.temp
	is, unread := p.isJudged(caught, s)
	if is {
		d.temp = "" // the name is the old file's now
		return caught, nil
	}
	if err := p.dir.Exchange(caught, p.lockName()); err != nil {
		d.temp = ""
		return "", instead(p.giveBack(d, caught, err), unread)
	}
	info, err := p.dir.Stat(caught)
	if err == nil && info.SameFile(d.info) {
		// the draft has its name again, and is discarded under it
		return "", instead(errMoved, unread)
	}
	d.temp = ""
	if err != nil {
		return "", instead(errMoved, unread)
	}
	return "", instead(p.putBack(caught, p.lockName()), unread)
}

// giveBack is what is left when the exchange back failed, for cause: while our own draft stands at
// S.lock, with the gate held, the caught file may replace it. Where that fails too, the draft is
// removed, for it would read as alive as long as this process lives, and the caught file kept where
// no sweep takes it.
func (p *place) giveBack(d *draft, caught string, cause error) error {
	name := p.lockName()
	info, err := p.dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) { // a record-v2 peer has taken our draft away meanwhile
		return p.putBack(caught, name)
	}
	if err != nil || !info.SameFile(d.info) {
		return fmt.Errorf("give a record back that is another one than judged (it lies at %s): %w",
			p.path(caught), cause)
	}
	if err := p.dir.Rename(caught, name); err == nil {
		return errMoved
	}
	kept := p.base + brokenInfix + p.in.randomHex(8)
	if err := p.dir.Rename(caught, kept); err != nil {
		kept = caught
	}
	return fmt.Errorf("give a record back that is another one than judged (it lies at %s): %w",
		p.path(kept), errors.Join(cause, p.dir.Remove(name)))
}

// instead is err, or what could not be read where err only says that something else was found.
func instead(err, unread error) error {
	switch {
	case unread == nil:
		return err
	case err == errMoved:
		return unread
	}
	return errors.Join(err, unread)
}

// putBack gives a file that was taken by mistake its name again, if nobody has it by now.
func (p *place) putBack(from, to string) error {
	if err := p.moveNoReplace(from, to); err != nil {
		return fmt.Errorf("give a record back that is another one than judged (it lies at %s): %w",
			p.path(from), err)
	}
	return errMoved
}

// isJudged reports whether the file at name is the judged one, with the judged bytes. An error says
// that this could not be found out.
func (p *place) isJudged(name string, s sighting) (bool, error) {
	info, err := p.dir.Stat(name)
	if err != nil || !s.isFile(info) {
		return false, err
	}
	if s.content == nil {
		return true, nil
	}
	f, err := p.dir.Open(name, vfs.Read)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return s.saysTheSame(f)
}

// isFile reports whether info is of the file that was seen, as far as can be said without reading
// it: of one that was not read then, the size too.
func (s *sighting) isFile(info vfs.Info) bool {
	return info.SameFile(s.info) && info.Mode.Type() == s.info.Mode.Type() &&
		(s.content != nil || info.Size == s.info.Size)
}

// saysTheSame reports whether an open file has the bytes that were seen.
func (s *sighting) saysTheSame(f vfs.File) (bool, error) {
	content, err := readAll(f, s.info.Size)
	return err == nil && bytes.Equal(content, s.content), err
}

// dispose removes the old file, or keeps it where a person broke a record that could not be read.
func (p *place) dispose(old string, s sighting) (saved string) {
	if old == "" {
		return ""
	}
	if name := p.keptName(s); name != "" {
		if name == old || p.dir.Rename(old, name) == nil {
			return p.path(name)
		}
		return p.path(old)
	}
	if err := p.dir.Remove(old); err != nil {
		p.opts.log().Warn("old record stays", "path", p.path(old), "error", err)
	}
	return ""
}
