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

// reuseReport is what was found about a process and its number, one after another, by pidfd and by start.
type reuseReport struct {
	ID                                       identity.Identity
	Running, Missing, Reused, Zombie, Thread [2]identity.Finding
	SameStart                                [2]bool // of the process that has the number now
	OfThread                                 bool    // Of says that a thread is no process
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
	if r.SameStart[1] {
		t.Errorf("both processes have start %s: not what this test is about", r.ID.Start)
	}
	if !r.OfThread {
		t.Errorf("Of does not say that a thread is no process")
	}
}

func init() { probetest.Register("reuser", reuser) }

func reuser(p *probetest.Peer) {
	p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	p.Check(unix.Mount("proc", "/proc", "proc", 0, ""))
	owner := probetest.Start(p, "viewer")
	owner.Expect("ready")
	id, err := identity.Of(owner.PID())
	p.Check(err)
	judge := func() [2]identity.Finding {
		byStart := id
		byStart.PIDFD = 0
		return [2]identity.Finding{identity.Judge(id), identity.JudgeOn(starts, byStart)}
	}
	r := reuseReport{ID: id, Running: judge()}
	owner.Kill()
	r.Missing = judge()

	// Starts have steps of 10 ms.
	for {
		var now unix.Timespec
		p.Check(unix.ClockGettime(unix.CLOCK_BOOTTIME, &now))
		if probe.Ticks(uint64(now.Nano()/int64(10*time.Millisecond))) != id.Start {
			break
		}
		runtime.Gosched()
	}
	other := atNumber(p, id.PID)
	r.Reused = judge()
	now, err := identity.Of(id.PID)
	p.Check(err)
	r.SameStart = [2]bool{now.PIDFD == id.PIDFD, now.Start == id.Start}
	other.KillNoReap()
	r.Zombie = judge()
	other.Kill()

	threadAtNumber(p, id.PID)
	r.Thread = judge()
	_, err = identity.Of(id.PID)
	r.OfThread = errors.Is(err, identity.ErrNoProcess)
	p.SendJSON(r)
	p.Wait()
}

// nextNumber lets the next process or thread of this pid namespace have a number. Whether it does
// depends on what else begins at that moment.
func nextNumber(p *probetest.Peer, n int) {
	p.Check(os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(n-1)), 0))
}

const manyTries = 1000

func atNumber(p *probetest.Peer, n int) *probetest.Child {
	for range manyTries {
		nextNumber(p, n)
		child := probetest.Start(p, "viewer")
		child.Expect("ready")
		if child.PID() == n {
			return child
		}
		child.Kill()
	}
	p.Fatalf("no process got number %d", n)
	return nil
}

func threadAtNumber(p *probetest.Peer, n int) {
	for range manyTries {
		nextNumber(p, n)
		got := make(chan int)
		go func() {
			runtime.LockOSThread() // and the thread ends with the goroutine
			tid := unix.Gettid()
			got <- tid
			if tid == n {
				select {}
			}
		}()
		if <-got == n {
			return
		}
	}
	p.Fatalf("no thread got number %d", n)
}
