package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
)

// ownPIDs is a pid namespace with a /proc of its own.
const ownPIDs = unix.CLONE_NEWPID | unix.CLONE_NEWNS

// A number of another pid namespace means nothing here, in neither direction, dead or alive (B06).
func TestOtherPIDNamespace(t *testing.T) {
	needsRoot(t)
	me := current(t)
	for name, args := range map[string][]string{
		"own /proc": {"private", "proc"}, "foreign /proc": nil,
	} {
		child := startView(t, in(ownPIDs), args...)
		inside, outside := child.current(), of(t, child.PID())
		if inside.PID != 1 || inside.PIDNS == outside.PIDNS || inside.PIDNS == 0 ||
			inside.Boot != me.Boot || inside.PIDFD != outside.PIDFD ||
			inside.Start != outside.Start {
			t.Errorf("%s: %v inside, %v outside", name, inside, outside)
		}
		wantBoth(t, name+": as seen inside", inside, "unknown other-pid-namespace")
		wantBoth(t, name+": as seen outside", outside, "alive process-running")
		wantFinding(t, name+": parent, from inside", child.judge(me), "unknown other-pid-namespace")
		// Process 1 exists on both sides, and there is no process of that number inside.
		wantFinding(t, name+": init, from inside", child.judge(of(t, 1)),
			"unknown other-pid-namespace")
		want := "alive process-running"
		if args == nil { // the start cannot be read in the /proc of others
			want = "unknown start-unreadable"
		}
		exact := want
		if hasPIDFD() {
			exact = "alive process-running"
		}
		wantFinding(t, name+": itself", child.judge(inside), exact)
		wantFinding(t, name+": itself, by start", child.judgeByStart(inside), want)
		wantFinding(t, name+": the number here", child.judge(outside),
			"unknown other-pid-namespace")

		child.Kill()
		wantBoth(t, name+": dead, as seen inside", inside, "unknown other-pid-namespace")
		wantBoth(t, name+": dead, as seen outside", outside, "gone no-such-process")

		// The number of the namespace may come back for a new one, which is no harm: the old one
		// ended with all its processes.
		next := startView(t, in(ownPIDs), args...)
		want = "unknown other-pid-namespace"
		if next.current().PIDNS == inside.PIDNS {
			want = "gone pid-reused"
		}
		wantFinding(t, name+": the next namespace", next.judge(inside), want)
	}
}

// A start value reads differently in another time namespace. Only a pidfd inode does not (B19).
func TestOtherTimeNamespace(t *testing.T) {
	needsRoot(t)
	me := current(t)
	if me.TimeNS == 0 {
		t.Skip("needs time namespaces")
	}
	child := startView(t, nil, "time 100000")
	inside := child.current()
	if inside.TimeNS == me.TimeNS || inside.Start == of(t, child.PID()).Start {
		t.Fatalf("%v and %v: not what this test is about", inside, me)
	}
	want := "unknown other-time-namespace"
	if hasPIDFD() {
		want = "alive process-running"
	}
	wantFinding(t, "child", identity.Judge(inside), want)
	wantFinding(t, "parent, from inside", child.judge(me), want)
	want = "unknown other-time-namespace"
	wantFinding(t, "child, by start", identity.JudgeOn(starts, inside), want)
	wantFinding(t, "parent, by start", child.judgeByStart(me), want)
	wantFinding(t, "itself", child.judgeByStart(inside), "alive process-running")
	// Whoever lost the time namespace cannot say that the start differs.
	lost := inside
	lost.TimeNS, lost.PIDFD = 0, 0
	wantBoth(t, "no namespace recorded", lost, "unknown namespace-unreadable")
	child.Kill()
	wantBoth(t, "dead", inside, "gone no-such-process")
}

// Other users, and a /proc that hides them (B21).
func TestOtherUsers(t *testing.T) {
	needsRoot(t)
	me := current(t)
	dead := startView(t, nil)
	deadID := dead.current()
	dead.Kill()
	zombie := startView(t, nil)
	zombieID := zombie.current()
	zombie.KillNoReap()

	plain := startView(t, in(unix.CLONE_NEWNS), "private", "proc hidepid=0", "nobody")
	wantFinding(t, "root's", plain.judge(me), "alive process-running")
	wantFinding(t, "root's, by start", plain.judgeByStart(me), "alive process-running")
	wantFinding(t, "zombie", plain.judgeByStart(zombieID), "gone process-exited")

	hidden := startView(t, in(unix.CLONE_NEWNS), "private", "proc hidepid=2", "nobody")
	want := "unknown start-unreadable"
	wantFinding(t, "hidden, by start", hidden.judgeByStart(me), want)
	if hasPIDFD() {
		want = "alive process-running"
	}
	wantFinding(t, "hidden", hidden.judge(me), want)
	for name, v := range map[string]view{"plain": plain, "hidden": hidden} {
		wantFinding(t, name+": dead", v.judge(deadID), "gone no-such-process")
		wantFinding(t, name+": dead, by start", v.judgeByStart(deadID), "gone no-such-process")
		wantFinding(t, name+": zombie", v.judge(zombieID), "gone process-exited")
		id := v.current()
		wantFinding(t, name+": itself", v.judgeByStart(id), "alive process-running")
		wantBoth(t, name+": from outside", id, "alive process-running")
	}
}

// Without /proc a process knows little of itself, and judges nobody (B27).
func TestWithoutProcFS(t *testing.T) {
	needsRoot(t)
	dead := startView(t, nil)
	deadID := dead.current()
	dead.Kill()
	for name, args := range map[string][]string{
		"root": {"chroot " + t.TempDir()}, "nobody": {"chroot " + t.TempDir(), "nobody"},
	} {
		v := startView(t, nil, args...)
		id := v.current()
		if id.PID != v.PID() || id.Boot != "" || id.Start != "" || id.PIDNS != 0 ||
			(id.PIDFD != 0) != hasPIDFD() {
			t.Errorf("%s: %v", name, id)
		}
		for who, other := range map[string]identity.Identity{
			"itself": id, "parent": current(t), "dead": deadID,
		} {
			wantFinding(t, name+": "+who, v.judge(other), "unknown boot-unreadable")
			wantFinding(t, name+": "+who, v.judgeByStart(other), "unknown boot-unreadable")
		}
		wantBoth(t, name+": from outside", id, "unknown boot-unreadable")
		wantBoth(t, name+": from outside, by number", of(t, v.PID()), "alive process-running")
	}
}

// A boot id that a container manager mounted over the kernel's is none, on either side (B14).
func TestMountedBootID(t *testing.T) {
	needsRoot(t)
	file := filepath.Join(t.TempDir(), "boot_id")
	if err := os.WriteFile(file, []byte(otherBoot+"\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	dead := startView(t, nil)
	deadID := dead.current()
	dead.Kill()
	v := startView(t, in(unix.CLONE_NEWNS), "private",
		"bind "+file+" /proc/sys/kernel/random/boot_id")
	id := v.current()
	if id.Boot != "" {
		t.Errorf("boot is %s", id.Boot)
	}
	for who, other := range map[string]identity.Identity{
		"itself": id, "parent": current(t), "dead": deadID,
	} {
		f := v.judge(other)
		wantFinding(t, who, f, "unknown boot-unreadable")
		if other.Boot != "" && !strings.Contains(f.Evidence[0].Err, "not genuine") {
			t.Errorf("why the boot id does not count is not said: %+v", f)
		}
	}
	wantBoth(t, "from outside", id, "unknown boot-unreadable")
}

// A host name is a label (B53).
func TestOtherHostName(t *testing.T) {
	needsRoot(t)
	me := current(t)
	v := startView(t, in(unix.CLONE_NEWUTS), "hostname other-name")
	id := v.current()
	if id.Host != "other-name" || me.Host == id.Host {
		t.Errorf("host names %q and %q", me.Host, id.Host)
	}
	wantFinding(t, "parent", v.judge(me), "alive process-running")
	wantBoth(t, "child", id, "alive process-running")
	v.Kill()
	wantBoth(t, "child", id, "gone no-such-process")
}
