package explore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
)

// What scripts do: the real calls, and what the monitor makes of their answers.

// Acquire takes the lock, waiting if that is wanted, and reports whether it has it.
func (p *Proc) Acquire(wait bool) bool {
	p.w.note(p, "acquires (waiting: %v)", wait)
	var lock *lockfile.Lock
	var err error
	p.tell(begins{})
	if wait {
		lock, err = lockfile.Acquire(context.Background(), state, p.opts)
	} else {
		lock, err = lockfile.TryAcquire(state, p.opts)
	}
	if err != nil {
		p.w.note(p, "does not get the lock: %v", err)
		p.refused(err)
		busy, ok := errors.AsType[*lockfile.BusyError](err)
		if ok && !wait && busy.Finding.Reason == identity.KernelLockHeld {
			p.tell(calledAlive{busy.LockID})
		}
		return false
	}
	p.tell(p.acquiredAs(lock))
	t := p.Tenure
	t.lock = lock
	p.w.note(p, "has the lock, number %d, file %s", t.token, fileName(t.record.inode))
	return true
}

// peersDoing reports whether an error tells of a counter that a record-v2 peer, which recovers, has
// truncated to write it anew: it is refused and said, and repaired by the next who takes the gate.
func (p *Proc) peersDoing(err error) bool {
	return p.w.scenario.LegacyRecovers && errors.Is(err, fence.ErrDamaged)
}

// refused checks an error of acquire, recover or break.
func (p *Proc) refused(err error) {
	busy, isBusy := errors.AsType[*lockfile.BusyError](err)
	e, isError := errors.AsType[*lockfile.Error](err)
	switch {
	case isBusy && (busy.Finding.Reason != "" || errors.Is(err, lockfile.ErrGateBusy) ||
		busy.Finding.Verdict == identity.Free):
	case isError && e.Op != "" && e.Step != "" && e.Path != "" &&
		(errors.Is(err, lockfile.ErrGateBusy) || errors.Is(err, lockfile.ErrChanged) ||
			errors.Is(err, lockfile.ErrLost) || p.peersDoing(err)):
	default:
		p.tell(failed{"I8", fmt.Sprintf("fails: %T: %v", err, err)})
	}
}

// Update reads the state, and replaces it by the next one through the lock.
func (p *Proc) Update() {
	t := p.Tenure
	base := number(p.read(state))
	p.w.note(p, "has read update %d, and writes %d", base, base+1)
	p.tell(begins{})
	data := fmt.Appendf(nil, "%d by %s", base+1, p.name)
	err := t.lock.WriteFile(state, data, 0o600)
	p.w.note(p, "its write: %v", err)
	p.tell(wrote{p.outcomeOf(err), text(err), false, p.drawn})
}

// Release gives the lock up.
func (p *Proc) Release() {
	p.w.note(p, "releases")
	err := p.Tenure.lock.Release()
	p.w.note(p, "its release: %v", err)
	p.tell(released{p.outcomeOf(err), text(err)})
}

// Tenancy is acquire, update, release.
func (p *Proc) Tenancy(wait bool) {
	if p.Acquire(wait) {
		p.Update()
		p.Release()
	}
}

// Recover takes over and releases, if the owner is gone.
func (p *Proc) Recover() {
	p.w.note(p, "recovers")
	was, err := lockfile.Recover(context.Background(), state, p.opts)
	switch {
	case err != nil:
		p.w.note(p, "does not recover: %v", err)
		p.refused(err)
	case was == nil:
		p.w.note(p, "finds nothing to recover")
	default:
		p.w.note(p, "has recovered %s, number %d", was.LockID, was.Fence)
		p.tell(tookOverFrom(was))
	}
}

// Break looks who has the lock, and takes it away on a person's word.
func (p *Proc) Break() {
	in, err := lockfile.Inspect(state, p.opts)
	if err != nil {
		p.tell(failed{"I8", fmt.Sprintf("cannot look: %v", err)})
		return
	}
	if in.LockID == "" {
		return
	}
	p.w.note(p, "breaks %s (%s)", in.LockID, in.Verdict)
	p.tell(breaks{in.LockID})
	defer p.tell(breaks{})
	was, err := lockfile.Break(context.Background(), state, lockfile.BreakRequest{
		LockID: in.LockID, Reason: "a test", By: "a person", EvenIfAlive: true}, p.opts)
	if err != nil {
		p.w.note(p, "does not break: %v", err)
		p.refused(err)
		return
	}
	p.w.note(p, "has broken %s, number %d", was.LockID, was.Fence)
	p.tell(tookOverFrom(&was.Recovered))
}

// Fork starts child with the descriptor of the lock, as a command that runs under it.
func (p *Proc) Fork(script *Script) {
	if p.w.live {
		panic("forks are made before the schedule begins")
	}
	child := p.w.newProc(script)
	if err := p.files.InheritHandle(child.files, p.Tenure.lock.Handle()); err != nil {
		panic(err)
	}
	p.Tenure.child, child.Tenure = child, p.Tenure
	child.environ = p.Tenure.lock.Environ()
	child.start(func() { script.Run(child) })
}

// UpdateInherited is Update under the lock of the process above.
func (p *Proc) UpdateInherited() {
	in, err := lockfile.Inherit(state, p.environ, p.opts)
	if err != nil || in == nil {
		p.w.note(p, "inherits nothing: %v", err)
		return
	}
	defer in.Close()
	base := number(p.read(state))
	p.tell(begins{})
	data := fmt.Appendf(nil, "%d by %s", base+1, p.name)
	err = in.WriteFile(state, data, 0o600)
	p.w.note(p, "its write: %v", err)
	p.tell(wrote{p.outcomeOf(err), text(err), true, p.drawn})
}

// read reads a file, "" when there is none.
func (p *Proc) read(name string) []byte {
	dir, base, err := p.files.Resolve(name)
	if err != nil {
		return nil
	}
	d, err := p.files.OpenDir(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	f, err := d.Open(base, vfs.Read)
	if err != nil {
		return nil
	}
	defer f.Close()
	content, _ := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	return content
}
