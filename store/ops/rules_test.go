package ops

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/probate-dev/probate/identity"
)

func TestPhasesValidate(t *testing.T) {
	good := Phases{Initial: "a", Next: map[Phase][]Phase{"a": {"b", "c"}, "b": {"a", "c"}},
		Terminal: []Phase{"c"}}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]Phases{
		"initial":     {},
		"initial ":    {Initial: "c", Next: good.Next, Terminal: good.Terminal},
		"is terminal": {Initial: "a", Next: good.Next, Terminal: []Phase{"c", "b"}},
		"neither":     {Initial: "a", Next: map[Phase][]Phase{"a": {"x", "c"}}, Terminal: good.Terminal},
		"cannot be reached": {Initial: "a", Next: map[Phase][]Phase{"a": {"c"}, "b": {"c"}},
			Terminal: good.Terminal},
		"cannot be reached ": {Initial: "a", Next: map[Phase][]Phase{"a": {"c"}},
			Terminal: []Phase{"c", "d"}},
		"leads to no": {Initial: "a", Next: map[Phase][]Phase{"a": {"b", "c"}, "b": {"b"}},
			Terminal: good.Terminal},
		"leads to no ": {Initial: "a", Next: map[Phase][]Phase{"a": nil}},
		"a name has":   {Initial: "", Next: map[Phase][]Phase{"": {"c"}}, Terminal: good.Terminal},
		"a name has ": {Initial: "a", Next: map[Phase][]Phase{"a": {"\xff"}},
			Terminal: []Phase{"\xff"}},
	} {
		_, err := Open(t.TempDir(), p, Options{})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
	// what was declared is what counts, whatever becomes of the maps
	f, err := Open(t.TempDir(), good, Options{})
	if err != nil {
		t.Fatal(err)
	}
	good.Next["a"][0], good.Terminal[0] = "z", "z"
	delete(good.Next, "b")
	if !f.phases.terminal("c") || !f.phases.allowed("a", "b") || !f.phases.allowed("b", "a") {
		t.Errorf("%+v", f.phases)
	}
}

// An operation in a phase that is not declared, by a later version of the program say, is
// unfinished.
func TestUndeclaredPhase(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	later := Phases{Initial: "a", Next: map[Phase][]Phase{"a": {"new"}, "new": {"c"}},
		Terminal: []Phase{"c"}}
	f, err := Open(dir, later, Options{})
	if err != nil {
		t.Fatal(err)
	}
	op, _, err := f.Begin(ctx, Request{ID: "r", Environment: "e"})
	if err == nil {
		op, err = f.CompareAndSwap(ctx, "r", op.Revision, Change{Phase: "new"})
	}
	if err != nil {
		t.Fatal(err)
	}
	now := Phases{Initial: "a", Next: map[Phase][]Phase{"a": {"c"}}, Terminal: []Phase{"c"}}
	if f, err = Open(dir, now, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Begin(ctx, Request{ID: "s", Environment: "e"}); !errors.Is(err, ErrBusy) {
		t.Errorf("begin: %v", err)
	}
	if _, err := f.ArchiveFinished(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("archive: %v", err)
	}
	_, err = f.CompareAndSwap(ctx, "r", op.Revision, Change{Phase: "c"})
	if !errors.Is(err, ErrPhase) {
		t.Errorf("swap: %v", err)
	}
}

// The verdict on an operation is that on all who work on it, and a claim needs proof or a person.
func TestClaimRule(t *testing.T) {
	stamp := func(pid int, v identity.Verdict) Stamp {
		return Stamp{Process: identity.Identity{OS: "linux", PID: pid}, Fence: 1, At: time.Unix(int64(v), 0)}
	}
	judge := func(s Stamp) identity.Finding {
		return identity.Finding{Verdict: identity.Verdict(s.At.Unix())}
	}
	const alive, gone, unknown = identity.Alive, identity.Gone, identity.Unknown
	me := stamp(99, alive)
	for _, c := range []struct {
		all  []identity.Verdict // owner first
		want identity.Verdict
	}{
		{[]identity.Verdict{alive}, alive}, {[]identity.Verdict{gone}, gone},
		{[]identity.Verdict{unknown}, unknown}, {[]identity.Verdict{gone, alive}, alive},
		{[]identity.Verdict{gone, gone}, gone}, {[]identity.Verdict{gone, unknown}, unknown},
		{[]identity.Verdict{unknown, gone}, unknown}, {[]identity.Verdict{unknown, gone, alive},
			alive},
		{[]identity.Verdict{gone, unknown, alive, gone}, alive},
		{[]identity.Verdict{gone, unknown, gone}, unknown},
		{[]identity.Verdict{alive, gone, unknown}, alive},
	} {
		op := Operation{ID: "r", Revision: 5, Owner: stamp(1, c.all[0])}
		for i, v := range c.all[1:] {
			op.Others = append(op.Others, stamp(2+i, v))
		}
		if got := recovery(op, judge).Finding.Verdict; got != c.want {
			t.Errorf("%v: %v, want %v", c.all, got, c.want)
		}
		for _, take := range []Takeover{{}, {Reason: "r"}, {EvenUnknown: true}, {EvenAlive: true},
			{Reason: "r", EvenUnknown: true}, {Reason: "r", EvenAlive: true},
			{Reason: " …", EvenUnknown: true}, {Reason: "?!", EvenAlive: true}} {
			word := take.Reason == "r"
			want := c.want == gone || word && take.EvenAlive ||
				word && take.EvenUnknown && c.want == unknown
			got, changed, found, err := claim(op, take, me, judge)
			if (err == nil) != want || changed != want || err != nil && !errors.Is(err, ErrHeld) ||
				found.Verdict != c.want {
				t.Errorf("%v, %+v: %v, changed %v, %v", c.all, take, found, changed, err)
			}
			if want && (got.Owner != me || got.Others != nil || got.Revision != 6 ||
				len(got.Claims) != 1 || got.Claims[0].From != op.Owner ||
				got.Claims[0].Word != take.Reason || got.Claims[0].Verdict != c.want) {
				t.Errorf("%v, %+v: %+v", c.all, take, got)
			}
		}
	}
	// who is not provably gone stays among those that work on it
	op := Operation{Owner: stamp(1, alive), Others: []Stamp{stamp(2, gone), stamp(3, unknown),
		stamp(4, alive), stamp(99, alive)}}
	var left []int
	for _, s := range work(op, me, judge).Others {
		left = append(left, s.Process.PID)
	}
	if len(left) != 3 || left[0] != 3 || left[1] != 4 || left[2] != 99 || len(op.Others) != 4 {
		t.Errorf("left: %v of %v", left, op.Others)
	}
	if got := work(op, stamp(1, alive), judge); len(got.Others) != 4 {
		t.Errorf("the owner counts itself: %v", got.Others)
	}
}

// Options.Judge decides what becomes of an operation.
func TestOptionsJudge(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	p := Phases{Initial: "a", Next: map[Phase][]Phase{"a": {"c"}}, Terminal: []Phase{"c"}}
	first, err := Open(dir, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	op, _, err := first.Begin(ctx, Request{ID: "r", Environment: "e"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	f, err := Open(dir, p, Options{Judge: func(s Stamp) identity.Finding {
		asked++
		return identity.Finding{Verdict: identity.Gone, Reason: identity.MachineRestarted}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range f.Recoverable() {
		if err != nil || r.Finding.Reason != identity.MachineRestarted || r.Operation.ID != op.ID {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
