package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/ops"
)

// Processes that begin at the same time in one environment: one has begun, the others are told
// whose it is, and nobody waits for anybody's clock.
func TestProcessesBegin(t *testing.T) {
	const processes, rounds = 5, 8
	dir := t.TempDir()
	store := open(t, dir, ops.Options{})
	var children []*probetest.Child
	for range processes {
		children = append(children, start(t, dir))
	}
	for round := range rounds {
		for n, child := range children {
			child.Send(fmt.Sprintf("begin r%d-%d e", round, n))
		}
		winner := ""
		var busy []string
		for n, child := range children {
			switch said := child.Line(); {
			case said == "ok" && winner != "":
				t.Fatalf("%s and %d have both begun", winner, n)
			case said == "ok":
				winner = fmt.Sprintf("r%d-%d", round, n)
			default:
				busy = append(busy, said)
			}
		}
		if winner == "" {
			t.Fatalf("nobody has begun: %q", busy)
		}
		for _, said := range busy {
			if said != "busy "+winner {
				t.Errorf("%s has begun, and somebody is told: %s", winner, said)
			}
		}
		swap(t, store, get(t, store, winner), "cancelled")
	}
	if lines := summary(t, store); len(lines) != rounds {
		t.Errorf("%d operations after %d rounds:\n%s", len(lines), rounds, strings.Join(lines, "\n"))
	}
}

// The same request from many processes begins once.
func TestProcessesBeginSame(t *testing.T) {
	dir := t.TempDir()
	var children []*probetest.Child
	for range 5 {
		children = append(children, start(t, dir))
	}
	for round := range 5 {
		for _, child := range children {
			child.Send(fmt.Sprintf("begin r%d e%d", round, round))
		}
		said := map[string]int{}
		for _, child := range children {
			said[child.Line()]++
		}
		if said["ok"] != 1 || said["again"] != len(children)-1 {
			t.Errorf("one request from %d processes: %v", len(children), said)
		}
	}
}

// Processes are killed at any moment while they work in three environments, again and again:
// nothing that one of them was told is lost, no environment ever has two unfinished operations, the
// others go on at once, and whoever recovers finds that the owner is gone.
func TestKilledWorkers(t *testing.T) {
	kills := 40
	if hurry() > 0 {
		kills = 8
	}
	dir := t.TempDir()
	store := open(t, dir, ops.Options{})
	acknowledged := map[string]ops.Phase{}
	for n := range kills {
		env := fmt.Sprint("e", n%3)
		child := start(t, dir)
		bystander := start(t, dir)
		acks := n % 7
		id := ""
		for step := 0; step <= acks; step++ {
			var verb string
			var to ops.Phase
			switch step % 3 {
			case 0:
				id, to = fmt.Sprintf("r%d-%d", n, step), "planned"
				verb = "begin " + id + " " + env
			case 1:
				to = "applying"
				verb = "swap " + id + " applying"
			case 2:
				to = "applied"
				verb = "swap " + id + " applied"
			}
			child.Send(verb)
			bystander.Send(fmt.Sprintf("begin b%d-%d elsewhere%d", n, step, n))
			if step == acks {
				child.Kill() // somewhere in this verb, or before it, or after it
				bystander.Line()
				break
			}
			if said := child.Line(); said != "ok" {
				t.Fatalf("%s: %s", verb, said)
			}
			acknowledged[id] = to
			bystander.Line()
			bystander.Send(fmt.Sprintf("swap b%d-%d cancelled", n, step))
			bystander.Line()
		}
		for r, err := range store.Recoverable() {
			noError(t, err)
			op := r.Operation
			if op.Environment != env {
				continue
			}
			if r.Finding.Verdict != identity.Gone {
				t.Errorf("the owner of %s was killed: %v", op.ID, r.Finding)
			}
			if op, err = store.Claim(ctx, op.ID, op.Revision, ops.Takeover{}); err != nil {
				t.Fatal(err)
			}
			acknowledged[op.ID] = "cancelled"
			if op.Phase == "applying" {
				acknowledged[op.ID] = "failed"
			}
			swap(t, store, op, acknowledged[op.ID])
		}
		bystander.Close()
	}
	order := map[ops.Phase]int{"planned": 0, "applying": 1, "applied": 2, "cancelled": 3, "failed": 3}
	for id, phase := range acknowledged {
		if op := get(t, store, id); order[op.Phase] < order[phase] {
			t.Errorf("%s was acknowledged as %s, and is %s", id, phase, op.Phase)
		}
	}
	summary(t, store)
}

// The operation of a process that lives is not claimed, whoever asks; that of one that is gone is,
// by one of those who ask.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	owner := start(t, dir)
	if said := owner.Ask("begin r e"); said != "ok" {
		t.Fatal(said)
	}
	others := []*probetest.Child{start(t, dir), start(t, dir), start(t, dir)}
	if said := others[0].Ask("claim r"); said != "held" {
		t.Fatalf("while its owner lives: %s", said)
	}
	owner.Kill()
	for _, child := range others {
		child.Send("claim r")
	}
	said := map[string]int{}
	for _, child := range others {
		said[child.Line()]++
	}
	if said["ok"] != 1 || said["stale"]+said["held"] != 2 {
		t.Errorf("three claim: %v", said)
	}
	op := get(t, open(t, dir, ops.Options{}), "r")
	if len(op.Claims) != 1 || op.Claims[0].Verdict != identity.Gone ||
		op.Claims[0].From.Process.PID != owner.PID() || op.Claims[0].To != op.Owner {
		t.Errorf("%+v", op)
	}
}

// Who changes an operation beside its owner may be working on it. While that process lives nobody
// claims the operation, though its owner is gone; who only hands in a receipt does not count.
func TestClaimBesideOthers(t *testing.T) {
	dir := t.TempDir()
	owner, other, clerk := start(t, dir), start(t, dir), start(t, dir)
	recoverer := start(t, dir)
	for _, step := range []struct {
		child *probetest.Child
		verb  string
		want  string
	}{
		{owner, "begin r e", "ok"}, {other, "swap r applying", "ok"}, {clerk, "accept r n", "ok"},
		{owner, "own r d", "ok"}, {recoverer, "claim r", "held"},
		{owner, "", ""}, {recoverer, "claim r", "held"},
		{other, "", ""}, {recoverer, "claim r", "ok"}, {clerk, "claim r", "held"},
		{recoverer, "claim r", "ok"}, {recoverer, "", ""}, {clerk, "claim r", "ok"},
	} {
		if step.verb == "" {
			step.child.Kill()
		} else if said := step.child.Ask(step.verb); said != step.want {
			t.Fatalf("%s: %s, want %s", step.verb, said, step.want)
		}
	}
}
