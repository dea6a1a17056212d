package identity_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// reuseReport is what was found about a process and its number, one after another, by pidfd and by
// start.
type reuseReport struct {
	ID                                       identity.Identity
	Running, Missing, Reused, Zombie, Thread [2]identity.Finding
	SameStart                                bool // both processes began within one step
	OfThread                                 bool // Of says that a thread is no process
}

// The number of a dead process goes to another one for real (B01).
func TestPIDReuse(t *testing.T) {
	needsRoot(t)
	if _, err := os.Stat("/proc/sys/kernel/ns_last_pid"); err != nil {
		t.Skip("needs a kernel that lets root choose the next number: ", err)
	}
	child := probetest.StartAs(t, in(ownPIDs), "reuser")
	var r reuseReport
	child.JSON(&r)
	for i, how := range []string{"by pidfd", "by start"} {
		wantFinding(t, how+": owner", r.Running[i], "alive process-running")
		wantFinding(t, how+": nobody", r.Missing[i], "gone no-such-process")
		wantFinding(t, how+": another", r.Reused[i], "gone pid-reused")
		wantFinding(t, how+": another, exited", r.Zombie[i], "gone pid-reused")
		wantFinding(t, how+": a thread", r.Thread[i], "gone no-such-process")
	}
	if r.SameStart {
		t.Errorf("both processes have start %s: not what this test is about", r.ID.Start)
	}
	if !r.OfThread {
		t.Errorf("Of does not say that a thread is no process")
	}
}

func init() { probetest.Register("reuser", reuser) }

// reuser is process 1 of a pid namespace of its own, in which it can choose numbers. A thread of
// its own can always get in the way, and keep the number: then it begins anew with another one.
func reuser(p *probetest.Peer) {
	p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	p.Check(unix.Mount("proc", "/proc", "proc", 0, ""))
	for number := 1000; number < 30000; number += 1000 {
		if r, ok := reuse(p, number); ok {
			p.SendJSON(r)
			p.Wait()
		}
	}
	p.Fatalf("no number could be given to two processes and a thread")
}

func reuse(p *probetest.Peer, number int) (r reuseReport, ok bool) {
	owner, ok := atNumber(p, number)
	if !ok {
		return r, false
	}
	var err error
	r.ID, err = identity.Of(number)
	p.Check(err)
	judge := func() [2]identity.Finding {
		byStart := r.ID
		byStart.PIDFD = 0
		return [2]identity.Finding{identity.Judge(r.ID), identity.JudgeOn(starts, byStart)}
	}
	r.Running = judge()
	owner.Kill()
	r.Missing = judge()

	// Starts have steps of 10 ms.
	for r.ID.Start == tickNow(p) {
		runtime.Gosched()
	}
	other, ok := atNumber(p, number)
	if !ok {
		return r, false
	}
	r.Reused = judge()
	now, err := identity.Of(number)
	p.Check(err)
	r.SameStart = now.Start == r.ID.Start
	other.KillNoReap()
	r.Zombie = judge()
	other.Kill()

	if !threadAtNumber(p, number) {
		return r, false
	}
	r.Thread = judge()
	_, err = identity.Of(number)
	r.OfThread = errors.Is(err, identity.ErrNoProcess)
	return r, true
}

// tickNow is the start that a process would have that begins now.
func tickNow(p *probetest.Peer) probe.Start {
	var now unix.Timespec
	p.Check(unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
	return probe.Ticks(uint64(now.Nano() / int64(10*time.Millisecond)))
}

// nextNumber lets the next process or thread of this pid namespace have a number, if it is free.
func nextNumber(p *probetest.Peer, n int) {
	p.Check(os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(n-1)), 0))
}

func atNumber(p *probetest.Peer, n int) (*probetest.Child, bool) {
	for range 10 {
		nextNumber(p, n)
		child := probetest.Start(p, "viewer")
		child.Expect("ready")
		if child.PID() == n {
			return child, true
		}
		child.Kill()
	}
	return nil, false
}

func threadAtNumber(p *probetest.Peer, n int) bool {
	for range 20 {
		nextNumber(p, n)
		begun := make(chan bool)
		go func() {
			runtime.LockOSThread() // a goroutine with a thread of its own, which is kept
			close(begun)
			select {}
		}()
		<-begun
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(n)); err == nil {
			return true
		}
	}
	return false
}
