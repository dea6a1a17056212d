package ops_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

func init() { probetest.Register("actor", actor) }

// actor is a process that does what it is told with the store in the folder of its first argument,
// one line of answer for each verb, see do. Besides:
//
//	stop N     from now on, stop before the Nth step that changes something on disk: it says
//	           "at STEP", and goes on at the line "go"
//	links no   as on a filesystem that has no hard links
//	full N     the Nth step from now on fails as on a full disk
//	count      the next answer begins with the number of steps
//	kill N     is killed before the Nth system call that changes files or takes locks
//	calls all  from now on every answer begins with the number of system calls about files, or
//	           with that of the calls of one kind
//	fail KIND  all system calls of that kind fail from now on
func actor(p *probetest.Peer) {
	var opts ops.Options
	if len(p.Args()) > 1 { // so that the lock flushes the same every time
		opts.Lock.Durability = lockfile.FlushFirst
	}
	s, err := ops.Open(p.Arg(0), opstest.Phases(), opts)
	p.Check(err)
	stop, full, links, steps := 0, 0, true, 0
	var calls func() int
	s.SetHook(func(step string) error {
		if !links && strings.HasPrefix(step, "link ") {
			return errors.ErrUnsupported
		}
		steps++
		if stop--; stop == 0 {
			p.Send("at " + step)
			p.Expect("go")
		}
		if full--; full == 0 {
			return errFull
		}
		return nil
	})
	p.Send("ready")
	for {
		line := p.Line()
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "stop":
			_, err = fmt.Sscan(rest, &stop)
			p.Check(err)
		case "full":
			_, err = fmt.Sscan(rest, &full)
			p.Check(err)
		case "links":
			links = rest != "no"
		case "count":
			steps = 0
			said := do(s, p.Line())
			p.Send(fmt.Sprintf("%d steps, %s", steps, said))
		case "kill":
			_, err = fmt.Sscan(rest, &stop)
			p.Check(err)
			_, err = crashtest.KillAt(stop)
			p.Check(err)
			stop = 0
		case "fail":
			p.Check(crashtest.Fail(rest, syscall.EIO))
		case "calls":
			calls, err = crashtest.Count(strings.TrimPrefix(rest, "all"))
			p.Check(err)
		default:
			before := 0
			if calls != nil {
				before = calls()
			}
			said := do(s, line)
			if calls != nil {
				said = fmt.Sprintf("%d calls, %s", calls()-before, said)
			}
			p.Send(said)
		}
	}
}

var errFull = errors.New("the disk is full, says the test")

func start(t probetest.TB, dir string) *probetest.Child {
	t.Helper()
	child := probetest.Start(t, "actor", dir)
	child.Expect("ready")
	return child
}

// do carries out one verb, and says "ok" or what went wrong. Every verb can be repeated.
//
//	begin ID ENVIRONMENT    also "again" for one that exists, and "busy ID"
//	swap ID PHASE           nothing when it is in that phase
//	follow ID PHASE NEXT    the same, with a follow-up
//	own ID NAME
//	accept ID NONCE
//	claim ID
//	archive
func do(s *ops.Folder, line string) string {
	words := strings.Fields(line)
	verb, id := words[0], ""
	if len(words) > 1 {
		id = words[1]
	}
	op := ops.Operation{}
	err := error(nil)
	if verb != "begin" && verb != "archive" {
		if op, err = s.Get(id); err != nil {
			return outcome(err)
		}
	}
	switch verb {
	case "begin":
		var begun bool
		_, begun, err = s.Begin(ctx, ops.Request{ID: id, Environment: words[2], Data: id})
		if err == nil && !begun {
			return "again"
		}
	case "swap", "follow":
		to := ops.Phase(words[2])
		if op.Phase == to {
			return "ok"
		}
		change := ops.Change{Phase: to}
		if verb == "follow" {
			change.FollowUp = &ops.Request{ID: words[3], Data: words[3]}
		}
		_, err = s.CompareAndSwap(ctx, id, op.Revision, change)
	case "own":
		_, err = s.RecordOwned(ctx, id, op.Revision, ops.Resource{Kind: "disk", Name: words[2]})
	case "accept":
		_, _, err = s.Accept(ctx, ops.Receipt{Nonce: words[2], Operation: id})
	case "claim":
		_, err = s.Claim(ctx, id, op.Revision, ops.Takeover{})
	case "archive":
		_, err = s.ArchiveFinished(ctx)
	default:
		return "what is " + verb + "?"
	}
	return outcome(err)
}

// outcome names the errors that tests look for.
func outcome(err error) string {
	e, _ := errors.AsType[*ops.Error](err)
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ops.ErrBusy):
		return "busy " + e.Current.ID
	case errors.Is(err, ops.ErrStale):
		return "stale"
	case errors.Is(err, ops.ErrHeld):
		return "held"
	case errors.Is(err, lockfile.ErrUnsure):
		return "unsure"
	case errors.Is(err, lockfile.ErrFenced):
		return "fenced"
	case errors.Is(err, errFull):
		return "full"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// summary returns a line for every operation that the store knows, with what must not get lost.
func summary(t probetest.TB, s *ops.Folder) []string {
	t.Helper()
	var lines []string
	line := func(op ops.Operation) string {
		got, err := s.Get(op.ID)
		noError(t, err)
		if got.Phase != op.Phase || got.Revision != op.Revision {
			t.Fatalf("a listing has %+v\nGet has %+v", op, got)
		}
		where := ""
		if op.Archived {
			where = " archived"
		}
		return fmt.Sprintf(
			"%s in %s: %s, revision %d, owns %v, receipts %d, follows %q, followed by %q%s",
			op.ID,
			op.Environment,
			op.Phase,
			op.Revision,
			op.Owned,
			len(op.Receipts),
			op.Follows,
			op.FollowUp,
			where,
		)
	}
	for _, list := range []func(func(ops.Operation, error) bool){s.All(), s.Archived()} {
		for op, err := range list {
			noError(t, err)
			lines = append(lines, line(op))
		}
	}
	slices.Sort(lines)
	if twice := slices.Compact(slices.Clone(lines)); len(twice) != len(lines) {
		t.Fatalf("an operation is listed twice: %q", lines)
	}
	unfinished := map[string]string{}
	for r, err := range s.Recoverable() {
		noError(t, err)
		if other, ok := unfinished[r.Operation.Environment]; ok {
			t.Fatalf("%s and %s are unfinished in one environment", other, r.Operation.ID)
		}
		unfinished[r.Operation.Environment] = r.Operation.ID
	}
	return lines
}

// leftovers returns what lies in the folders for what is not in place, and for what was damaged.
func leftovers(t probetest.TB, dir string) []string {
	t.Helper()
	var left []string
	for _, sub := range []string{"tmp", "damaged"} {
		names, err := filepath.Glob(filepath.Join(dir, sub, "*"))
		noError(t, err)
		left = append(left, names...)
	}
	locks, err := filepath.Glob(filepath.Join(dir, "ops.lock*"))
	noError(t, err)
	return append(left, locks...)
}

// files returns the content of every file of the store, but for those of the lock.
func files(t probetest.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	noError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "ops.") {
			return err
		}
		data, err := os.ReadFile(name)
		got[strings.TrimPrefix(name, dir)] = string(data)
		return err
	}))
	return got
}
