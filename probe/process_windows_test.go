package probe_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func init() {
	probetest.Register("self", func(p *probetest.Peer) {
		p.SendJSON(probe.Real().Self().Start.Value)
		p.Wait()
	})
	probetest.Register("exit 259", func(p *probetest.Peer) { os.Exit(259) })
	probetest.Register("forbid", func(p *probetest.Peer) {
		p.Check(forbidAll())
		p.SendJSON(probe.Real().Self().Start.Value)
		p.Wait()
	})
}

// forbidAll takes everybody's right to open this process, as services of other users have it.
func forbidAll() error {
	sd, err := windows.SecurityDescriptorFromString("D:P") // a list that allows nothing
	if err != nil {
		return err
	}
	acl, _, err := sd.DACL()
	if err != nil {
		return err
	}
	return windows.SetSecurityInfo(windows.CurrentProcess(), windows.SE_KERNEL_OBJECT,
		windows.DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
}

func start(t *testing.T, name string) (*probetest.Child, probe.Start) {
	t.Helper()
	c := probetest.Start(t, name)
	var s probe.Start
	c.JSON(&s)
	if s.Kind() != "filetime" {
		t.Fatalf("start value %q", s)
	}
	return c, s
}

// wantProcess checks what is said of a number twice: nothing of it is remembered.
func wantProcess(
	t *testing.T, s probe.System, pid int, presence probe.Presence, start probe.Start,
) probe.Process {
	t.Helper()
	p := s.Process(pid)
	for range 2 {
		if p.PID != pid || p.Presence != presence || p.Start.Known != (start != "") ||
			p.Start.Known && p.Start.Value != start || len(p.Readings) == 0 {
			t.Errorf("process %d: want %v, start %q: %+v", pid, presence, start, p)
		}
		p = s.Process(pid)
	}
	return p
}

// Everybody reads the same start: the process itself, its parent by handle, and the list.
func TestStartIsOne(t *testing.T) {
	c, own := start(t, "self")
	p := wantProcess(t, probe.Real(), c.PID(), probe.Running, own)
	list, err := probe.ProcessList()
	if err != nil || list[c.PID()] != own {
		t.Errorf("on the list %v, %v; by itself %v", list[c.PID()], err, own)
	}
	if !p.StartedAt.Known || time.Since(p.StartedAt.Value).Abs() > time.Hour {
		t.Errorf("started at %v", p.StartedAt)
	}
	if !p.Name.Known || !strings.HasSuffix(p.Name.Value, ".exe") ||
		strings.ContainsAny(p.Name.Value, `\/`) || !p.Threads.Known || p.Threads.Value < 1 {
		t.Errorf("%+v", p)
	}
	other, its := start(t, "self")
	if other.PID() == c.PID() || its == own {
		t.Errorf("two processes: %d %v, %d %v", c.PID(), own, other.PID(), its)
	}
}

// A killed process is there, exited, for as long as somebody has a handle on it, with its own
// start. Afterwards the kernel knows none, or keeps it a moment longer.
func TestKilledAndReferenced(t *testing.T) {
	c, own := start(t, "self")
	c.KillNoReap()
	p := wantProcess(t, probe.Real(), c.PID(), probe.Exited, own)
	if p.State.Value != "zombie" || p.Threads.Value != 0 || !p.Threads.Known {
		t.Errorf("%+v", p)
	}
	c.Kill() // closes the handle
	for end := time.Now().Add(probetest.Patience); ; {
		p = probe.Real().Process(c.PID())
		if p.Presence == probe.Missing {
			break
		}
		if p.Presence != probe.Exited && p.Start.Value == own || time.Now().After(end) {
			t.Fatalf("after its last handle was closed: %+v", p)
		}
	}
	if p.Start.Known || p.Start.Err == nil || p.Name.Known {
		t.Errorf("of a missing process: %+v", p)
	}
}

// 259 is the exit code that GetExitCodeProcess gives for processes that have not exited.
func TestExitCode259(t *testing.T) {
	c := probetest.Start(t, "exit 259")
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(c.PID()))
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(h)
	if code := c.Wait(); code != 259 {
		t.Fatalf("exit code %d", code)
	}
	if p := probe.Real().Process(c.PID()); p.Presence != probe.Exited {
		t.Errorf("%+v", p)
	}
}

// The kernel opens a process for the three numbers behind its own as well.
func TestNumbersBetween(t *testing.T) {
	pid := uint32(os.Getpid())
	for n := range uint32(3) {
		h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid+n+1)
		if err != nil {
			t.Errorf("the kernel does not open %d for %d: %v", pid, pid+n+1, err)
			continue
		}
		windows.CloseHandle(h)
		wantProcess(t, probe.Real(), int(pid+n+1), probe.PresenceUnknown, "")
	}
	for _, pid := range []int{0, -4, -1, 1<<31 - 1} {
		wantProcess(t, probe.Real(), pid, probe.PresenceUnknown, "")
	}
	wantProcess(t, probe.Real(), 1<<31-4, probe.Missing, "")
}

// The numbers of threads are from the same table, and name no process.
func TestThreadsAreMissing(t *testing.T) {
	p := probe.Real().Process(int(windows.GetCurrentThreadId()))
	if p.Presence != probe.Missing {
		t.Errorf("%+v", p)
	}
}

// A process that may not be opened is found on the list, with the same start.
func TestAccessDenied(t *testing.T) {
	c, own := start(t, "forbid")
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false,
		uint32(c.PID()))
	if err == nil {
		windows.CloseHandle(h)
	}
	if !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		t.Fatalf("opening it: %v", err)
	}
	p := wantProcess(t, probe.Real(), c.PID(), probe.Running, own)
	if !strings.HasSuffix(p.Name.Value, ".exe") || !p.Threads.Known {
		t.Errorf("%+v", p)
	}
	c.KillNoReap() // it may still not be opened, and is on no list: nothing can be said
	if p := probe.Real().Process(c.PID()); p.Presence == probe.Running ||
		p.Presence == probe.Missing {
		t.Errorf("killed: %+v", p)
	}
}

func TestSuspended(t *testing.T) {
	c, own := start(t, "self")
	for range 2 {
		c.Stop()
		p := wantProcess(t, probe.Real(), c.PID(), probe.Running, own)
		if probetest.OnWine() {
			if p.State.Known {
				t.Errorf("Wine says something of states now: %v; end the exception", p.State)
			}
		} else if p.State.Value != "stopped" {
			t.Errorf("suspended: %v", p.State)
		}
		c.Cont()
		if p := probe.Real().Process(c.PID()); p.State.Value == "stopped" {
			t.Errorf("resumed: %v", p.State)
		}
	}
}

func TestSelfOnWindows(t *testing.T) {
	s := probe.NewUncached()
	self := s.Self()
	wantProcess(t, s, os.Getpid(), probe.Running, self.Start.Value)
	if again := s.Self(); again.Start != self.Start ||
		again.StartedAt.Value != self.StartedAt.Value {
		t.Errorf("%+v and %+v", self, again)
	}
	if self.PIDFD.Known || !errors.Is(self.PIDFD.Err, errors.ErrUnsupported) ||
		!strings.HasSuffix(self.Name.Value, ".exe") {
		t.Errorf("%+v", self)
	}
}
