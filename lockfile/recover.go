package lockfile

import (
	"context"
	"errors"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Recover takes the lock over and releases it, if its owner is provably gone, whatever
// Options.Recovery says, but not against PROBATE_RECOVERY=off. It returns nil, nil when there was
// nothing to recover, and a *BusyError when the owner lives or cannot be judged. It waits for
// nothing but the gate, until ctx ends and at most Options.GateWait.
func Recover(ctx context.Context, path string, opts Options) (*Recovered, error) {
	const op = "recover"
	p, err := openPlaceToChange(op, path, &opts)
	if err != nil {
		return nil, err
	}
	defer p.close()
	pause := pause{in: p.in, most: longestPause}
	for unknown := 0; ; {
		s, err := p.look()
		if err != nil {
			return nil, p.failed(op, "look at the record", p.lockName(), err)
		}
		switch s.finding.Verdict {
		case identity.Free:
			return nil, nil
		case identity.Gone:
		case identity.Unknown:
			if unknown++; s.transient() && unknown < unknownLooks && pause.wait(ctx) == nil {
				continue
			}
			return nil, p.busy(op, s, nil)
		default:
			if unknown++; s.perhapsScanned() && unknown < unknownLooks && pause.wait(ctx) == nil {
				continue
			}
			return nil, p.busy(op, s, nil)
		}
		if why := recoveryIsOff(); why != "" {
			return nil, p.busy(op, s, errors.New(why))
		}
		if err := p.probesAreSane(); err != nil {
			return nil, p.busy(op, s, err)
		}
		lock, err := p.takeoverAndRelease(
			ctx,
			takeoverRequest{op: op, event: EventTakeover, judged: s,
				by: p.thisProcess()},
		)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.tellRecovered(lock)
		return lock.recovered, nil
	}
}

// takeoverAndRelease takes over and gives the lock free again, in one hold of the gate.
func (p *place) takeoverAndRelease(ctx context.Context, req takeoverRequest) (*Lock, error) {
	gate, err := p.holdGate(ctx, req.op)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	lock, err := p.takeover(gate, req)
	if err != nil {
		return nil, err
	}
	return lock, lock.giveUp(gate)
}

// perhapsScanned reports whether a lock that is held may be the handle of a program that looks at
// files, such as a scanner, rather than an owner's: its process is gone. It may as well be one of a
// process that inherited the lock, so that this only says to look again.
func (s *sighting) perhapsScanned() bool {
	return vfs.OwnerKeeps() && s.finding.Reason == identity.KernelLockHeld &&
		(s.process.Presence == probe.Missing || s.process.Presence == probe.Exited)
}
