package identity_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	probetest.Register("forbid", func(p *probetest.Peer) {
		sd, err := windows.SecurityDescriptorFromString("D:P") // a list that allows nothing
		p.Check(err)
		acl, _, err := sd.DACL()
		p.Check(err)
		p.Check(windows.SetSecurityInfo(windows.CurrentProcess(), windows.SE_KERNEL_OBJECT,
			windows.DACL_SECURITY_INFORMATION, nil, nil, acl, nil))
		id, err := identity.Current()
		p.Check(err)
		p.Send(id.String())
		p.Wait()
	})
	probetest.Register("short", func(p *probetest.Peer) { p.Wait() })
}

// stampedChild starts a child and returns its own word for itself.
func stampedChild(t *testing.T, name string) (*probetest.Child, identity.Identity) {
	t.Helper()
	child := probetest.Start(t, name)
	var id identity.Identity
	if err := id.UnmarshalText([]byte(child.Line())); err != nil {
		t.Fatal(err)
	}
	if id.PID != child.PID() || id.OS != "windows" || id.Boot == "" ||
		id.Start.Kind() != "filetime" {
		t.Fatalf("%v", id)
	}
	return child, id
}

// A child is killed: gone while somebody keeps a handle on it, and gone afterwards.
func TestKilledChild(t *testing.T) {
	child, id := stampedChild(t, "stamper")
	if of, err := identity.Of(child.PID()); err != nil || of.Start != id.Start ||
		of.Boot != id.Boot {
		t.Errorf("%v, %v; by itself %v", of, err, id)
	}
	wantFinding(t, "running", identity.Judge(id), "alive process-running")
	child.Stop()
	wantFinding(t, "suspended", identity.Judge(id), "alive process-running")
	child.KillNoReap()
	wantFinding(t, "referenced", identity.Judge(id), "gone process-exited")
	if _, err := identity.Of(child.PID()); !errors.Is(err, identity.ErrNoProcess) {
		t.Errorf("%v", err)
	}
	child.Kill()
	if f := identity.Judge(id); f.Verdict != identity.Gone {
		t.Errorf("%v", f)
	}
}

// Another process's start is another process, and so is every number beside.
func TestOtherStart(t *testing.T) {
	child, id := stampedChild(t, "stamper")
	other := id
	other.Start = probe.FileTime(133_000_000_000_000_000)
	wantFinding(t, "another start", identity.Judge(other), "gone pid-reused")
	for n := 1; n < 4; n++ {
		other = id
		other.PID += n
		wantFinding(t, "between two numbers", identity.Judge(other), "unknown process-unreadable")
	}
	other = id
	other.Boot = "boottime:1"
	wantFinding(t, "another boot", identity.Judge(other), "unknown other-boot")
	other = id
	other.OS = "linux"
	wantFinding(t, "another system", identity.Judge(other), "unknown other-os")
	child.KillNoReap()
	other = id
	other.Start = probe.FileTime(133_000_000_000_000_000)
	wantFinding(t, "another start, exited", identity.Judge(other), "gone pid-reused")
}

// A process that may not be opened is judged by the kernel's list as long as it lives, and not at
// all while it is kept after its end.
func TestDeniedProcess(t *testing.T) {
	child, id := stampedChild(t, "forbid")
	wantFinding(t, "running", identity.Judge(id), "alive process-running")
	other := id
	other.Start = probe.FileTime(133_000_000_000_000_000)
	wantFinding(t, "another start", identity.Judge(other), "gone pid-reused")
	child.KillNoReap()
	wantFinding(t, "referenced", identity.Judge(id), "unknown process-unreadable")
}

// The number of a dead process goes to another one for real. Windows gives numbers out again soon,
// and never while somebody has a handle on the process.
func TestNumberGivenAgain(t *testing.T) {
	first := map[int]identity.Identity{}
	const most = 2000
	for range most {
		child := probetest.Start(t, "short")
		id, err := identity.Of(child.PID())
		if err != nil {
			t.Fatal(err)
		}
		if old, again := first[id.PID]; again {
			if old.Start == id.Start {
				t.Fatalf("%v and %v", old, id)
			}
			wantFinding(t, "the first", identity.Judge(old), "gone pid-reused")
			wantFinding(t, "the second", identity.Judge(id), "alive process-running")
			child.KillNoReap()
			wantFinding(t, "the first", identity.Judge(old), "gone pid-reused")
			wantFinding(t, "the second", identity.Judge(id), "gone process-exited")
			return
		}
		first[id.PID] = id
		child.Kill()
	}
	if probetest.OnWine() {
		t.Fatalf("%d processes had %d numbers", most, len(first))
	}
	t.Skipf("Windows gave %d processes %d numbers: it promises to repeat none", most, len(first))
}
