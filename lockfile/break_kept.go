package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/internal/vfs"
)

// breakKept breaks the lock of an owner whose record nobody else can remove (Windows): it logs the
// break and raises the fence, so that the owner commits nothing any more, lets the gate go, and
// waits for the owner's own process to see that and to remove the record, see Lock.yield.
func (p *place) breakKept(
	ctx context.Context,
	gate fence.Gate,
	s sighting,
	req BreakRequest,
) (*Broken, error) {
	const op = "break"
	now, err := gate.Current()
	if err != nil {
		return nil, p.failed(op, "read the fence", p.fenceName(), err)
	}
	if s.record != nil && now > fence.Token(*s.record.Fence) {
		return nil, p.stillKept(s, ErrChanged,
			fmt.Errorf("it is broken already, the fence is at %d", now))
	}
	token, err := p.nextToken(gate, op, s)
	if err != nil {
		return nil, err
	}
	if err := p.appendLog(p.newEntry(EventBreak, s, token, req.Reason, req.By)); err != nil {
		return nil, p.failed(op, "write the recovery log", p.logName(), err)
	}
	if err := gate.Raise(token); err != nil {
		return nil, p.failed(op, "raise the fence", p.fenceName(), err)
	}
	if err := gate.Release(); err != nil {
		return nil, p.failed(op, "let the gate go", p.fenceName(), err)
	}
	if err := p.awaitYield(ctx, s); err != nil {
		return nil, p.stillKept(s, ErrBusy, err)
	}
	return &Broken{Recovered: Recovered{State: p.state(), Finding: s.finding, Owner: ownerOf(&s),
		LockID: s.lockID, Fence: token}, Warning: warning(s)}, nil
}

// awaitYield waits until another file than the one that was seen stands at S.lock, or none.
func (p *place) awaitYield(ctx context.Context, s sighting) error {
	bounded, cancel := context.WithTimeoutCause(ctx, p.opts.gateWait(),
		ended.Whole(fmt.Errorf("it was waited for %v", p.opts.gateWait())))
	defer cancel()
	pause := pause{in: p.in, most: longestPause}
	for {
		now, err := p.dir.Stat(p.lockName())
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !now.SameFile(s.info):
			return nil
		case err != nil && !errors.Is(err, vfs.ErrInUse):
			return err
		}
		if err := pause.wait(bounded); err != nil {
			return err
		}
	}
}

// stillKept says what can be done about a record that its owner keeps.
func (p *place) stillKept(s sighting, kind, err error) error {
	next := "end the process that has it open; until then nobody else gets the lock"
	if s.record != nil {
		pid := strconv.FormatInt(*s.record.PID, 10)
		next = "end process " + pid + " (taskkill /F /PID " + pid + ") and what it has started; " +
			"until then nobody else gets the lock"
	}
	return &Error{Op: "break", Path: p.state(), Step: "wait for the owner to give the record up",
		Finding: s.finding, Next: next,
		Err: fmt.Errorf("%w: what the owner commits is refused from now on, but this system lets "+
			"nobody remove a record that its owner has open: %w", kind, err)}
}

// yield removes the record of a tenure that was broken, where nobody else can. It goes through the
// open file, so that it removes no other record, and needs no gate. The file stays open, without a
// name of interest, so that no other one gets its number before the release.
func (l *Lock) yield() {
	if ours, err := l.stands(); err != nil || !ours {
		return
	}
	err := l.p.dir.Remove(l.p.lockName())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a release may be faster
		l.p.opts.log().Warn("the record of a broken lock stays", "path", l.Path(), "error", err)
	}
}
