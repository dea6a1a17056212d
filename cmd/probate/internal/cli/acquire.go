package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/spf13/pflag"
)

// heldEnv names the ids of all locks that the runs above hold, so that nobody waits for its own
// parent. The ids are public.
const heldEnv = "PROBATE_HELD"

// waiting says how long to wait for the lock.
type waiting struct {
	wait   duration
	asked  bool
	noWait bool
}

func (w *waiting) register(fl *pflag.FlagSet) {
	fl.Var(&w.wait, "wait", "wait at most this long (90s, 2m; a plain number is seconds)")
	fl.BoolVar(&w.noWait, "no-wait", false, "do not wait")
}

func (w *waiting) check(verb string, asked bool) error {
	w.asked = asked
	if asked && w.noWait {
		return &usageError{what: "--wait and --no-wait exclude each other", verb: verb}
	}
	w.noWait = w.noWait || asked && w.wait == 0
	return nil
}

// acquire takes the lock as the flags say, and tells for whom it waits. The error of a busy lock is
// a *refusal.
func (a *app) acquire(ctx context.Context, state string, w waiting, opts lockfile.Options,
) (*lockfile.Lock, error) {
	if err := refuseOwn(state); err != nil {
		return nil, err
	}
	told := ""
	opts.OnWaiting = func(in lockfile.Inspection) {
		if line := waitingLine(state, in, time.Now()); line != told {
			told = line
			a.say("%s", line)
		}
	}
	opts.OnRecovered = func(r lockfile.Recovered) {
		a.say("took %s over: %s; the fence is %d now", quote(state), r.Finding.Sentence, r.Fence)
	}
	if w.noWait {
		lock, err := lockfile.TryAcquire(state, opts)
		return lock, refused(state, err)
	}
	if !w.asked {
		lock, err := lockfile.Acquire(ctx, state, opts)
		return lock, refused(state, err)
	}
	opts.WaitUnknown = true
	ranOut := fmt.Errorf("--wait %v ran out: %w", time.Duration(w.wait), context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(w.wait), ranOut)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, state, opts)
	if _, busy := errors.AsType[*lockfile.BusyError](err); !busy && errors.Is(err, ranOut) {
		// On a busy machine a short time can be up before anybody looked. There is always one look.
		lock, err = lockfile.TryAcquire(state, opts)
	}
	return lock, refused(state, err)
}

// waitingLine: "waiting for state.json: held by process 4711 (importer) since 06:39:27".
func waitingLine(state string, in lockfile.Inspection, now time.Time) string {
	line := "waiting for " + quote(state) + ": "
	if in.Verdict != identity.Alive {
		if in.Sentence == "" {
			return line + in.Verdict.String()
		}
		return line + in.Finding.String()
	}
	who := brief(in.Owner)
	if who == "" {
		return line + "held: " + in.Sentence
	}
	if !identity.Comparable(*in.Owner.Identity(), probe.Real().Host()) {
		who = elsewhere(in.Owner)
	}
	c := nextFor(in, state)
	goOn := c.GoOn(probe.Real(), shell.Here)
	if c.Asked && !(c.Runs && c.Same) && in.Sentence != "" {
		return line + "held: " + in.Sentence // it is gone, and what it started holds the lock
	}
	line += "held by " + who
	if !in.Owner.Since.IsZero() {
		line += " since " + when(in.Owner.Since, now)
	}
	if goOn != "" {
		line += "; it is stopped, and goes on after " + goOn
	}
	return line
}

// elsewhere names an owner whose number means another process here, or none.
func elsewhere(o *lockfile.Owner) string {
	far := lockfile.Owner{PID: o.PID, Program: o.Program, Label: o.Label,
		PIDNamespace: o.PIDNamespace, Host: o.Host}
	return far.Description()
}

// refuseOwn refuses a lock that a run above this process holds: it would wait for its own parent.
func refuseOwn(state string) error {
	above := heldAbove()
	if len(above) == 0 {
		return nil
	}
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err != nil || in.Verdict != identity.Alive || !slices.Contains(above, in.LockID) {
		return nil // whatever is wrong here, acquire says it
	}
	r := &refusal{state: state, in: in, code: exitHeld,
		head: "held: by the probate run or write that this command runs under, " +
			"which cannot end before it",
		next: []string{"write it under the lock of that one: probate write " + operand(state)},
		err: fmt.Errorf("%s is held by the probate above, which would wait for this for ever",
			quote(state))}
	if in.LockID != os.Getenv(lockfile.EnvLockID) {
		r.next = []string{
			"write it directly under that one, not under a run or write of another state inside it",
		}
	}
	return r
}

func heldAbove() []string {
	var ids []string
	held := append(strings.Split(os.Getenv(heldEnv), ","), os.Getenv(lockfile.EnvLockID))
	for _, id := range held {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func withHeld(id string) string { return strings.Join(append(heldAbove(), id), ",") }

// duration reads "90s", "2m" and, as plain numbers, seconds.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "DUR" }
func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		seconds, numErr := strconv.ParseUint(s, 10, 31)
		if numErr != nil {
			return errors.New("it must be a duration such as 90s, 2m or 1h30m")
		}
		v = time.Duration(seconds) * time.Second
	}
	if v < 0 {
		return errors.New("it must not be negative")
	}
	*d = duration(v)
	return nil
}
