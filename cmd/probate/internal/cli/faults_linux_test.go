package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"golang.org/x/sys/unix"
)

// faultErrnos are what every operation fails with. 0 stands for a short write without an errno.
var faultErrnos = []syscall.Errno{unix.ENOSPC, unix.EIO, unix.EACCES, unix.EPERM, unix.EROFS,
	unix.EMFILE, unix.ENOLCK, unix.ENOTSUP, unix.EINTR, unix.EAGAIN, 0}

// foundFaults are operations whose failing once was not told truly, or left something behind. They
// are always tried, with EIO.
var foundFaults = map[string][]string{
	"break, owner alive":   {"look-at state.lock", "read state.lock", "remove state.lock."},
	"break, owner dead":    {"open state.lock", "read state.lock"},
	"recover, owner dead":  {"look-at state.lock", "remove state.lock"},
	"recover, record torn": {"open state.lock", "test-alone state.lock"},
}

// Every verb, with each of its file operations failing in every way, once: there is never a lock
// without a whole record, CMD never runs without the lock, no state is lost, nothing is said to be
// held that is not, and the message names step and path.
func TestOperationsFail(t *testing.T) {
	for _, e := range errands {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			b := &faultBench{t: t, e: &e, d: newDesk(t), child: startFaulty(t)}
			defer func() { b.child.kill() }()
			orders := b.orders()
			some := 24
			if e.verb == "inspect" {
				some = 6
			}
			tried := sample(t, len(orders), some)
			for i, o := range orders {
				if slices.Contains(tried, i) || b.found(o) {
					b.try(o)
				}
			}
			t.Logf("%d of %d faults, %d were survived, %d told of", b.survived+b.told-1, len(orders),
				b.survived, b.told)
		})
	}
}

type faultBench struct {
	t              *testing.T
	e              *errand
	d              *desk
	child          *faulty
	ops            []string
	survived, told int
}

// found reports whether an order is among the foundFaults.
func (b *faultBench) found(o faultOrder) bool {
	return o.Errno == unix.EIO && !o.Half &&
		slices.ContainsFunc(foundFaults[b.e.name], func(op string) bool {
			return strings.HasPrefix(b.ops[o.At-1], op)
		})
}

// orders lists everything that can fail in an errand.
func (b *faultBench) orders() (orders []faultOrder) {
	c := b.e.before(b.t, b.d)
	order := b.order(c, faultOrder{})
	healthy := b.child.run(order)
	if healthy.Code != b.e.healthyCode(c) || len(healthy.Ops) < 4 {
		b.t.Fatalf("%+v: %+v", order, healthy)
	}
	b.after(c, faultOrder{}, healthy)
	b.ops = healthy.Ops
	for i, op := range healthy.Ops {
		for _, errno := range faultErrnos {
			halves := strings.HasSuffix(op, " half")
			if errno != 0 {
				orders = append(orders, faultOrder{At: i + 1, Errno: errno})
			}
			if halves && (errno == 0 || errno == unix.ENOSPC || errno == unix.EIO) {
				orders = append(orders, faultOrder{At: i + 1, Errno: errno, Half: true})
			}
		}
	}
	return orders
}

func (b *faultBench) order(c *client, o faultOrder) faultOrder {
	o.State = c.state
	o.Args = b.e.command(c, "")
	switch {
	case b.e.args[0] == "run" && b.e.verb == "write":
		o.Args, o.Below = o.Args[4:], true // what stands behind SELF
	case b.e.verb == "run":
		o.Args = append([]string{"run", c.state, "--"}, faultyCMD...)
	}
	o.Args = append([]string{o.Args[0], "--json"}, o.Args[1:]...)
	return o
}

func (b *faultBench) try(o faultOrder) {
	c := b.e.before(b.t, b.d)
	o = b.order(c, o)
	r := b.child.run(o)
	how := o.Errno.Error()
	if o.Half {
		how = "half, then " + how
	}
	b.t.Run(fmt.Sprintf("%d %s: %s", o.At, strings.ReplaceAll(r.Hit, "/", "|"), how),
		func(t *testing.T) {
			inner := *b
			inner.t = t
			inner.after(c, o, r)
			b.child, b.survived, b.told = inner.child, inner.survived, inner.told
			if t.Failed() {
				t.Logf("%q: exit code %d\n%s%s", o.Args, r.Code, r.Out, r.Err)
			}
		})
}

// after checks what was said and what there is, and that the next one can go on.
func (b *faultBench) after(c *client, o faultOrder, r faultResult) {
	t := b.t
	t.Helper()
	if r.Code == b.e.healthyCode(c) {
		b.survived++
		b.done(c, r)
	} else {
		b.told++
		b.explained(c, o, r)
	}
	b.underLock(r)
	b.settled(c, r)
	b.e.cutShort(t, c)
	if b.e.verb == "write" && c.content(t) == newContent && r.Code != exitOK &&
		r.Code != exitUnsure && !strings.Contains(r.Err, "release") {
		t.Errorf("written, and yet exit code %d", r.Code)
	}
	b.goOn(c)
}

// done checks that what was reported as done is.
func (b *faultBench) done(c *client, r faultResult) {
	t := b.t
	t.Helper()
	in := look(t, c.state)
	switch b.e.verb {
	case "run":
		if r.CMD == nil {
			t.Error("CMD did not run, and nothing is said about it")
		}
	case "write":
		if now := c.content(t); (now == newContent) != (b.e.code == exitOK) {
			t.Errorf("the state is %q", now)
		}
	case "break":
		if in.LockID == c.was.LockID || in.Fence.Counter <= c.was.Fence.Counter {
			t.Errorf("broken, and yet %v, %+v", in.Finding, in.Fence)
		}
	case "recover":
		if in.LockID != "" {
			t.Errorf("recovered, and yet %v", in.Finding)
		}
	}
}

// explained checks a refusal: it names a path and, where something failed, the step and the cause;
// and it never says of an owner what is not true of it.
func (b *faultBench) explained(c *client, o faultOrder, r faultResult) {
	t := b.t
	t.Helper()
	dir := filepath.Dir(c.state)
	if b.e.verb == "inspect" && r.Code != exitFailure {
		if r.Code == verdictCode(identity.Gone) || r.Code == verdictCode(identity.Free) {
			t.Errorf("a fault made %v of it", r.Code)
		}
		return
	}
	lines := strings.Split(strings.TrimSpace(r.Err+r.Out), "\n")
	i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, `"error"`) })
	var f failure
	if i < 0 {
		t.Errorf("exit code %d, and no error", r.Code)
	} else if err := json.Unmarshal([]byte(lines[i]), &f); err != nil {
		t.Errorf("%q: %v", lines[i], err)
	}
	text := strings.Join(lines, " ")
	alive := c.was.Verdict == identity.Alive
	switch {
	case !strings.HasPrefix(f.Path, dir) || !strings.Contains(text, dir):
		t.Errorf("no path: %s", text)
	case f.Code == exitHeld && !alive && f.Kind != string(lockfile.KindGateBusy):
		t.Errorf("nobody holds it: %s", text)
	case f.Kind == "" || f.Code == exitFailure && f.Step == "":
		t.Errorf("no step, or no kind: %s", text)
	case f.Step != "" && !strings.Contains(f.Error, f.Step):
		t.Errorf("the step %q is not in the message: %s", f.Step, text)
	case o.Errno != 0 && o.Errno != unix.EAGAIN && !strings.Contains(text, o.Errno.Error()):
		t.Errorf("not a word of %q: %s", o.Errno.Error(), text)
	}
}

// underLock checks the lock under which CMD ran, if it did.
func (b *faultBench) underLock(r faultResult) {
	b.t.Helper()
	if saw := r.CMD; saw != nil && (saw.ID == "" || saw.LockID != saw.ID ||
		saw.Reason != identity.KernelLockHeld || saw.Format != "record-v2") {
		b.t.Errorf("CMD ran with this lock: %+v", saw)
	}
}

// settled waits until nobody has the lock that nobody was given: what could not be withdrawn at
// once is withdrawn a little later. A lock that could not be released ends with the command.
func (b *faultBench) settled(c *client, r faultResult) {
	t := b.t
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		in := look(t, c.state)
		if in.Verdict != identity.Alive || c.holder != nil && in.LockID == c.was.LockID {
			return
		}
		if in.Reason != identity.KernelLockHeld {
			t.Fatalf("nobody holds it, and yet: %v", in.Finding)
		}
		if (b.e.verb == "run" || b.e.verb == "write") && strings.Contains(r.Err, "release") {
			b.child.kill()
			b.child = startFaulty(t)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody was given the lock, and yet: %v", in.Finding)
		}
	}
}

// goOn lets the next one acquire, without a person, write and release.
func (b *faultBench) goOn(c *client) {
	t := b.t
	t.Helper()
	left := look(t, c.state)
	due := left.Fence.Counter
	if left.Verdict == identity.Gone {
		due = max(due, left.Fence.Record) + 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.holder != nil {
		due = c.settle(t, left)
	} else if left.Verdict == identity.Unknown {
		_, err := lockfile.Break(ctx, c.state, lockfile.BreakRequest{LockID: left.LockID,
			Reason: "a test"}, lockfile.Options{})
		check(t, err)
	}
	lock, err := lockfile.Acquire(ctx, c.state, lockfile.Options{})
	check(t, err)
	token := lock.Token()
	if token < due {
		t.Errorf("token %d, at least %d was due", token, due)
	}
	check(t, lock.WriteFile(c.state, []byte(newContent), 0o600))
	check(t, lock.Release())
	if in := look(t, c.state); in.Verdict != identity.Free || in.Fence.Counter != token {
		t.Errorf("%v, counter %d, token %d", in.Finding, in.Fence.Counter, token)
	}
	c.logIsWhole(t, token)
	if temps, _ := filepath.Glob(c.state + ".lock.*.tmp"); len(temps) > 0 {
		// What could not be removed is swept by the first acquire of another process.
		if _, code, said := killed(t, as("probate", "run", c.state, "--", "true")); code != 0 {
			t.Errorf("run: exit code %d: %s", code, said)
		}
	}
	c.bounded(t)
}
