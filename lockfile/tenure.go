package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/internal/vfs"
)

// tenure is what a Lock and an Inherited have in common: the right to commit while the record
// stands.
type tenure struct {
	p     *place
	token fence.Token
	lease string
	by    owner
}

// owner is what a Lock and an Inherited differ in.
type owner interface {
	stands() (bool, error) // the record at S.lock is the one of this tenure
	mayCommit() error      // why not, without looking at the disk
	hasEnded() error       // mayCommit by what is remembered alone
	markLost(error)        // told once the loss is certain
}

// Token returns the fencing token of this tenure.
func (t *tenure) Token() fence.Token { return t.token }

// ID returns the public name of this tenure: Inspection.LockID.
func (t *tenure) ID() string { return leaseID(t.lease) }

// State returns the state path, resolved.
func (t *tenure) State() string { return t.p.state() }

func (t *tenure) describe() string {
	return "lock " + t.ID() + " of " + t.p.state() + ", fence " + t.token.String()
}

func (t *tenure) fenced(op string, now fence.Token) error {
	return &Error{Op: op, Path: t.p.state(), Step: "compare the fence",
		Err: fmt.Errorf(
			"%w (this tenure has number %d, the counter is at %d)",
			ErrFenced,
			t.token,
			now,
		),
		Next: "see probate log " + shell.Raw.Operand(t.p.state())}
}

func (t *tenure) gone(op string) error {
	return &Error{Op: op, Path: t.p.state(), Step: "compare the record",
		Err: fmt.Errorf("%w: the record at %s is not the one of this tenure any more", ErrLost,
			t.p.path(t.p.lockName())),
		Next: "see probate inspect " + shell.Raw.Operand(t.p.state())}
}

// during says what was being done when it turned out that the lock had ended before.
func during(op string, ended error) error {
	e, ok := ended.(*Error)
	if !ok {
		return ended
	}
	again := *e
	again.Op = op
	return &again
}

// check looks at counter and record without the gate, unless the counter needs repair.
func (t *tenure) check(op string) error {
	t.p.enter()
	defer t.p.leave()
	now, err := t.p.counter.Current()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fence.ErrDamaged) {
		gate, err := t.p.holdGate(context.Background(), op)
		if err != nil {
			return err
		}
		defer gate.Release()
		return t.checkUnder(gate, op)
	}
	if err != nil {
		return t.p.failed(op, "read the fence", t.p.fenceName(), err)
	}
	return t.compare(op, now)
}

func (t *tenure) checkUnder(gate fence.Gate, op string) error {
	now, err := gate.Current()
	if err != nil {
		return t.p.failed(op, "read the fence", t.p.fenceName(), err)
	}
	return t.compare(op, now)
}

// checkEntered is checkUnder for a gate that was just taken: nobody but its holder changes the
// number that was read then.
func (t *tenure) checkEntered(gate fence.Gate, op string) error {
	now, ok := fence.Entered(gate)
	if !ok {
		return t.checkUnder(gate, op)
	}
	return t.compare(op, now)
}

func (t *tenure) compare(op string, now fence.Token) error {
	if now != t.token {
		err := t.fenced(op, now)
		// A counter below tells of nobody who took over. Where the record is gone too, somebody
		// removed everything.
		if now < t.token {
			if stands, e := t.by.stands(); e == nil && !stands {
				err = t.gone(op)
			}
		}
		t.by.markLost(err)
		return err
	}
	return t.compareRecord(op)
}

func (t *tenure) compareRecord(op string) error {
	stands, err := t.by.stands()
	if err != nil {
		return t.p.failed(op, "look at the record", t.p.lockName(), err)
	}
	if !stands {
		err := t.gone(op)
		// Who looks without the gate may have read the counter before it was raised.
		if now, e := t.p.counter.Current(); e == nil && now > t.token {
			err = t.fenced(op, now)
		}
		t.by.markLost(err)
		return err
	}
	return nil
}

// checkAgain is the check after a change. As long as the gate is one nobody else raises the number.
func (t *tenure) checkAgain(gate fence.Gate, op string) error {
	if t.p.opts.WithoutKernelLock {
		return t.checkUnder(gate, op)
	}
	if err := fence.Still(gate); err != nil {
		return t.p.failed(op, "look at the fence", t.p.fenceName(), err)
	}
	return t.compareRecord(op)
}

// Commit runs fn, which makes a change visible (typically one rename), while nobody can take over
// or break the lock, and only if it is still held. ctx bounds the wait for the gate, besides
// Options.GateWait. The directory of the state is flushed afterwards.
//
// An error of fn is returned as it is. ErrLost (ErrFenced) says that fn was not run; ErrUnsure that
// it was, but the lock is found lost after it (a record-v2 peer took the record away meanwhile), or
// that the directory could not be flushed. Keep fn short: everybody who commits, releases or takes
// over waits for it, and so does a commit, a write or a release inside fn: for itself.
func (t *tenure) Commit(ctx context.Context, fn func() error) error {
	return t.commit(ctx, "commit", t.p.dir, fn)
}

func (t *tenure) commit(ctx context.Context, op string, dir vfs.Dir, fn func() error) error {
	if err := t.by.mayCommit(); err != nil {
		return during(op, err)
	}
	t.p.enter()
	defer t.p.leave()
	if err := t.commitUnderGate(ctx, op, fn); err != nil {
		if ended := t.by.mayCommit(); errors.Is(ended, ErrReleased) && !errors.Is(err, ErrLost) {
			// Release was faster, and took away what this call would have used
			return during(op, ended)
		}
		return err
	}
	if t.p.opts.Durability == FlushNever {
		return nil
	}
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return &Error{Op: op, Path: t.p.state(), Step: "flush the directory",
			Err: fmt.Errorf("%w: it may not outlast a power cut: %w", ErrUnsure, err)}
	}
	return nil
}

func (t *tenure) commitUnderGate(ctx context.Context, op string, fn func() error) error {
	gate, err := t.p.holdGate(ctx, op)
	if err != nil {
		return err
	}
	defer gate.Release()
	if err := t.by.hasEnded(); err != nil { // a release was faster
		return during(op, err)
	}
	if err := t.checkEntered(gate, op); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := t.checkAgain(gate, op); err != nil {
		why := "the lock was lost meanwhile"
		if !errors.Is(err, ErrLost) {
			why = "whether the lock was still held then cannot be said"
		}
		return &Error{Op: op, Path: t.p.state(), Step: "check again after the write",
			Next: "compare what stands there with what was written, and see who holds it: " +
				"probate inspect " + shell.Raw.Operand(t.p.state()),
			Err: fmt.Errorf("%w: %s: %w", ErrUnsure, why, err)}
	}
	return nil
}

// WriteFile replaces the content of path: atomically, so that readers see the old or the new
// content and nothing between; durably, unless Options.Durability is FlushNever; and fenced, so
// that after a loss it is refused and nothing changes. Errors are those of Commit. path is usually
// the state itself. A new file gets exactly perm; one that exists keeps its permission bits, and
// its owner where this process may give files away. If path is a symbolic link, the file that it
// names is replaced. Where path was the state when it was locked, and leads elsewhere since (its
// directory was replaced, a link was changed), it is refused: what stands there has its own lock.
func (t *tenure) WriteFile(path string, data []byte, perm fs.FileMode) error {
	_, err := t.write(path, data, nil, perm, "")
	return err
}

// WriteFrom is WriteFile with the content from a reader, and returns how many bytes were read from
// it. The reader is drained before the gate is taken.
func (t *tenure) WriteFrom(path string, r io.Reader, perm fs.FileMode) (int64, error) {
	if r == nil {
		return 0, &Error{Op: opWrite, Path: path, Step: "read the new content",
			Err: errors.New("there is no reader")}
	}
	return t.write(path, nil, r, perm, "")
}

// write replaces the content of path with all of r, or with data where r is nil, and keeps the old
// content as previous unless that is empty.
func (t *tenure) write(
	path string, data []byte, r io.Reader, perm fs.FileMode, previous string,
) (int64, error) {
	t.p.enter()
	defer t.p.leave()
	if err := t.by.hasEnded(); err != nil { // the rest is asked before the gate
		return 0, during(opWrite, err)
	}
	w, err := t.newReplacement(path, perm)
	if err != nil {
		return 0, err
	}
	defer w.close()
	if w.besides == t.p && t.p.isOwn(w.p.base) {
		return 0, w.p.failed(opWrite, "check the name", w.p.base,
			fmt.Errorf("%s is a file of the lock itself", w.p.base))
	}
	put := w.rename
	if previous != "" {
		if err := w.checkPrevious(t, previous); err != nil {
			return 0, err
		}
		put = func() error { return w.renameKeeping(previous) }
	}
	n, err := w.fillWith(data, r)
	if err != nil {
		return n, err
	}
	return n, t.commit(context.Background(), opWrite, w.dir, put)
}

// breach looks for traces of a record-v2 peer that took the record of that lease away without the
// gate: its marker, or a record renamed aside.
func (p *place) breach(lease string) string {
	if lease != "" {
		name := p.markerName(lease)
		if _, err := p.dir.Stat(name); err == nil && !p.isOurMarker(name) {
			return "a record-v2 program recovered this lock without the gate: " + p.path(name)
		}
	}
	names, err := p.dir.Names()
	if err != nil {
		return ""
	}
	for _, name := range names {
		if strings.HasPrefix(name, p.base+claimInfix) {
			return "a record-v2 program has taken the lock aside without the gate: " + p.path(name)
		}
	}
	return ""
}
