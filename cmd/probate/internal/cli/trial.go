package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// trial is a self-test under way. Every step either sees what must be, or returns what it saw
// instead.
type trial struct {
	ctx        context.Context
	dir, state string
	caps       lockfile.Capabilities
	children   []*child
	skipped    []string

	holder    *child        // of hold, killed by crash
	paused    *child        // of pause, overtaken by lateWrite
	tokens    []fence.Token // every token handed out, in order
	takeovers int
	breaks    int
}

// hold: a child holds, and a second process is told who.
func (t *trial) hold() (step, error) {
	c, err := t.child()
	if err != nil {
		return step{}, err
	}
	t.holder = c
	held, err := c.ask("acquire", "")
	if err != nil {
		return step{}, err
	}
	t.tokens = append(t.tokens, held.Fence)
	lock, err := lockfile.TryAcquire(t.state, lockfile.Options{})
	if err == nil {
		lock.Release()
		return step{}, errors.New("a second process got the lock while a child holds it")
	}
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	switch {
	case !ok:
		return step{}, err
	case busy.Owner == nil || busy.Owner.PID != c.pid():
		return step{}, fmt.Errorf(
			"a second process was refused, but told of another owner: %w",
			err,
		)
	case busy.Verdict != identity.Alive:
		return step{}, fmt.Errorf(
			"a second process was refused, but the owner was not judged alive: %w",
			err,
		)
	}
	return step{Status: stepOK, Seen: "a child holds; a second process is told who"}, nil
}

// crash: the child is killed, proven gone, and taken over; the fence rises by one.
func (t *trial) crash() (step, error) {
	if err := t.holder.kill(); err != nil {
		return step{}, err
	}
	in, err := lockfile.Inspect(t.state, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	if in.Verdict != identity.Gone {
		return t.notProven(in)
	}
	lock, err := lockfile.Acquire(t.ctx, t.state, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	defer lock.Release()
	before := t.tokens[len(t.tokens)-1]
	t.tokens = append(t.tokens, lock.Token())
	switch {
	case lock.Recovered() == nil:
		return step{}, errors.New("the lock of a killed child was free, and not taken over")
	case lock.Token() != before+1:
		return step{}, fmt.Errorf(
			"the fence went from %d to %d, not up by one",
			before,
			lock.Token(),
		)
	}
	t.takeovers++
	if err := lock.Release(); err != nil {
		return step{}, err
	}
	return step{Status: stepOK, Note: fmt.Sprintf("fence %d → %d", before, lock.Token()),
		Seen: fmt.Sprintf("child killed; judged gone (%s); taken over", in.Reason)}, nil
}

// notProven is crash where nothing proves the death: a person must decide, which is safe but not
// what the caller hopes for. The lock is broken, so that the test can go on.
func (t *trial) notProven(in lockfile.Inspection) (step, error) {
	s := step{
		Status: stepOff,
		Seen:   fmt.Sprintf("child killed; judged %s (%s)", in.Verdict, in.Reason),
	}
	if probe.Real().Self().Start.Known {
		s.Seen += ": a person must decide after a crash"
	} else {
		s.Status = stepSkipped
		s.Seen += ": this system has no probe"
	}
	broken, err := t.breakLock(t.ctx, in.LockID)
	if err != nil {
		return s, err
	}
	t.tokens = append(t.tokens, broken.Fence)
	return s, nil
}

func (t *trial) breakLock(ctx context.Context, id string) (*lockfile.Broken, error) {
	req := lockfile.BreakRequest{LockID: id, Reason: "selftest", EvenIfAlive: true}
	broken, err := lockfile.Break(ctx, t.state, req, lockfile.Options{})
	if err == nil {
		t.breaks++
	}
	return broken, err
}

// pause: a child that is stopped is alive, and not taken over.
func (t *trial) pause() (step, error) {
	c, err := t.child()
	if err != nil {
		return step{}, err
	}
	t.paused = c
	held, err := c.ask("acquire", "")
	if err != nil {
		return step{}, err
	}
	if _, err := c.ask("write", "by the child"); err != nil {
		return step{}, err
	}
	if err := c.pause(); errors.Is(err, errors.ErrUnsupported) {
		return step{Status: stepSkipped, Seen: "processes cannot be stopped on this system"}, nil
	} else if err != nil {
		return step{}, err
	}
	_, err = lockfile.Recover(t.ctx, t.state, lockfile.Options{})
	busy, ok := errors.AsType[*lockfile.BusyError](err)
	switch {
	case err == nil:
		return step{}, errors.New("the lock of a stopped child was taken over")
	case !ok:
		return step{}, err
	case busy.Verdict != identity.Alive || busy.LockID != held.LockID:
		return step{}, fmt.Errorf("a stopped child was not judged alive: %w", err)
	}
	return step{Status: stepOK,
		Seen: fmt.Sprintf("child stopped; judged alive (%s); not taken over", busy.Reason)}, nil
}

// lateWrite: a person breaks the lock of the stopped child, somebody else writes, and the child
// wakes up and writes too: refused, and nothing changed.
func (t *trial) lateWrite() (step, error) {
	in, err := lockfile.Inspect(t.state, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	if vfs.OwnerKeeps() {
		return t.lateWriteOfKeeper(in)
	}
	broken, err := t.breakLock(t.ctx, in.LockID)
	if err != nil {
		return step{}, err
	}
	if err := t.nextHolder(t.wakeAndWrite); err != nil {
		return step{}, err
	}
	return lateStep(broken), nil
}

// nextHolder writes under the lock, and does something more before it gives it up.
func (t *trial) nextHolder(meanwhile func(content string) error) error {
	lock, err := lockfile.TryAcquire(t.state, lockfile.Options{})
	if err != nil {
		return err
	}
	defer lock.Release()
	t.tokens = append(t.tokens, lock.Token())
	const content = "by the next holder"
	if err := lock.WriteFile(t.state, []byte(content), 0o600); err != nil {
		return err
	}
	if err := meanwhile(content); err != nil {
		return err
	}
	return lock.Release()
}

func lateStep(broken *lockfile.Broken) step {
	return step{Status: stepOK, Note: fmt.Sprintf("fence %d → %d", broken.Fence-1, broken.Fence),
		Seen: "the overtaken child wakes and writes; refused (fenced); state unchanged"}
}

// wakeAndWrite lets the stopped child go on and write: that is refused, and the state is as it was.
func (t *trial) wakeAndWrite(content string) error {
	if err := t.paused.resume(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	late, err := t.paused.ask("write", "late")
	if err == nil {
		return errors.New("the late write of an overtaken child went through")
	}
	if late.Kind != "fenced" {
		return fmt.Errorf("the late write failed, but not as fenced: %w", err)
	}
	now, err := os.ReadFile(t.state)
	if err == nil && string(now) != content {
		err = fmt.Errorf("the state is %q after a refused write, and was %q", now, content)
	}
	return err
}

// lateWriteOfKeeper is lateWrite where nobody can remove the record of an owner that lives: the
// break refuses what the child writes from the moment that it raises the fence, and is done when
// the child has given the record up, which it can only after it woke up.
func (t *trial) lateWriteOfKeeper(in lockfile.Inspection) (step, error) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	var broken *lockfile.Broken
	done := make(chan error, 1)
	go func() {
		var err error
		broken, err = t.breakLock(ctx, in.LockID)
		done <- err
	}()
	for look := time.NewTicker(20 * time.Millisecond); ; {
		now, err := lockfile.Inspect(t.state, lockfile.Options{})
		if err != nil {
			return step{}, err
		}
		if now.Fence.Counter > in.Fence.Counter {
			look.Stop()
			break
		}
		select {
		case err := <-done:
			return step{}, fmt.Errorf("the break ended before it raised the fence: %w", err)
		case <-look.C:
		}
	}
	if err := t.wakeAndWrite("by the child"); err != nil {
		return step{}, err
	}
	if err := <-done; err != nil {
		return step{}, err
	}
	if err := t.nextHolder(func(string) error { return nil }); err != nil {
		return step{}, err
	}
	return lateStep(broken), nil
}

// fence: the numbers that were handed out only went up, one for each takeover and break.
func (t *trial) fence() (step, error) {
	in, err := lockfile.Inspect(t.state, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	for i := 1; i < len(t.tokens); i++ {
		if t.tokens[i] <= t.tokens[i-1] {
			return step{}, fmt.Errorf("the fence went from %d to %d", t.tokens[i-1], t.tokens[i])
		}
	}
	last := t.tokens[len(t.tokens)-1]
	switch raised := last - t.tokens[0]; {
	case in.Fence.Counter != last:
		return step{}, fmt.Errorf(
			"the counter is %d, the last token was %d",
			in.Fence.Counter,
			last,
		)
	case raised != fence.Token(t.takeovers+t.breaks):
		return step{}, fmt.Errorf("the fence rose by %d in %d takeovers and breaks", raised,
			t.takeovers+t.breaks)
	}
	return step{Status: stepOK, Seen: fmt.Sprintf("only ever up: %d to %d", t.tokens[0], last)}, nil
}

// log: one line for each takeover and break, with evidence.
func (t *trial) log() (step, error) {
	entries, unreadable, err := lockfile.ReadLog(t.state, lockfile.Options{})
	if err != nil {
		return step{}, err
	}
	count := map[string]int{}
	for _, e := range entries {
		count[e.Event]++
		if len(e.Evidence) == 0 {
			return step{}, fmt.Errorf("the entry for fence %d has no evidence", e.Fence)
		}
	}
	switch {
	case unreadable != 0:
		return step{}, fmt.Errorf("lines of the log that cannot be read: %d", unreadable)
	case count["takeover"] != t.takeovers || count["break"] != t.breaks ||
		len(entries) != t.takeovers+t.breaks:
		return step{}, fmt.Errorf("the log has %v, and there were %d takeovers and %d breaks",
			count, t.takeovers, t.breaks)
	}
	return step{Status: stepOK, Seen: fmt.Sprintf("%s, %s, evidence complete",
		counted(t.takeovers, "takeover"), counted(t.breaks, "break"))}, nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// leftovers: nothing stays behind but what the design names.
func (t *trial) leftovers() (step, error) {
	t.endChildren()
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return step{}, err
	}
	base := filepath.Base(t.state)
	var kept, strange []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base)
		switch {
		case ok && (rest == "" || rest == ".fence" || rest == ".recovery.log"):
			kept = append(kept, e.Name())
		case ok && strings.HasPrefix(rest, ".recovered-"): // markers, removed by later takeovers
		default:
			strange = append(strange, e.Name())
		}
	}
	if len(strange) > 0 {
		return step{}, fmt.Errorf("left behind: %s", strings.Join(strange, ", "))
	}
	return step{Status: stepOK, Seen: "none but " + strings.Join(kept, ", ")}, nil
}
