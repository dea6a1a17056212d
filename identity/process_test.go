package identity_test

import (
	"os"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The tests of this file run on every system, also on one of which little can be found out.

func init() {
	probetest.Register("stamper", func(p *probetest.Peer) {
		id, err := identity.Current()
		p.Check(err)
		p.Send(id.String())
		p.Wait()
	})
}

// wantOnceKnown is the verdict where the system says enough for one, and unknown elsewhere.
func wantOnceKnown(t *testing.T, name string, id identity.Identity, want identity.Verdict) {
	t.Helper()
	if id.Boot == "" || id.Start == "" {
		want = identity.Unknown
	}
	f := identity.Judge(id)
	checkFinding(t, f)
	if f.Verdict != want {
		t.Errorf("%s: %v, want %v", name, f, want)
	}
}

func TestLifeOfAProcess(t *testing.T) {
	me, err := identity.Current()
	if err != nil || me.PID != os.Getpid() || me.Program == "" {
		t.Fatalf("%v, %v", err, me)
	}
	wantOnceKnown(t, "myself", me, identity.Alive)
	child := probetest.Start(t, "stamper")
	var id identity.Identity
	if err := id.UnmarshalText([]byte(child.Line())); err != nil {
		t.Fatal(err)
	}
	if id.PID != child.PID() || id.Boot != me.Boot || id.OS != me.OS {
		t.Errorf("%v and %v", id, me)
	}
	wantOnceKnown(t, "child", id, identity.Alive)
	child.KillNoReap()
	wantOnceKnown(t, "killed", id, identity.Gone)
	child.Kill()
	wantOnceKnown(t, "reaped", id, identity.Gone)
}

// A system of which nothing can be found out judges nobody.
func TestKnowsNothing(t *testing.T) {
	sys := probetest.New()
	sys.HostFacts = probe.Host{OS: "plan9"}
	sys.SelfProcess = probe.Process{PID: 12, Presence: probe.Running}
	id, err := identity.CurrentOn(sys)
	if err != nil || id.OS != "plan9" || id.PID != 12 {
		t.Fatalf("%v, %v", err, id)
	}
	checkStable(t, id)
	sys.OnProcess = func(pid int) probe.Process {
		return probetest.Absent(pid, probe.Missing, errDenied)
	}
	wantFinding(t, "nothing known", identity.JudgeOn(sys, id), "unknown boot-unreadable")
}
