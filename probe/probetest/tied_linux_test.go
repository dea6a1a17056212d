package probetest_test

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// awaitExit waits until a process that is no child of this one has exited.
func awaitExit(t *testing.T, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(probetest.Patience.Milliseconds()))
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			t.Fatalf("it does not end: %v", err)
		default:
			return
		}
	}
}

// However a parent ends, its children end with it, the stopped ones too.
func TestChildrenDoNotOutliveParent(t *testing.T) {
	for how, end := range map[string]func(*probetest.Child){
		"killed":   func(c *probetest.Child) { c.Kill() },
		"returned": func(c *probetest.Child) { c.Send("go"); c.Expect("returns"); c.Wait() },
		"closed":   func(c *probetest.Child) { c.Close() },
	} {
		for _, stopped := range []bool{false, true} {
			parent := probetest.Start(t, "parent")
			pid, err := strconv.Atoi(parent.Line())
			if err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if stopped {
				if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			end(parent)
			awaitExit(t, fd)
			t.Logf("%s, stopped %v: ended", how, stopped)
		}
	}
}

func TestStopCont(t *testing.T) {
	c := probetest.Start(t, "echo")
	c.Line()
	for range 3 {
		c.Stop()
		if p := probe.Real().Process(c.PID()); p.State.Value != "stopped" {
			t.Errorf("state is %v", p.State)
		}
		c.Send("while stopped")
		c.Cont()
		c.Expect("while stopped")
	}
	c.Stop()
	c.Kill()
}

func TestKillNoReap(t *testing.T) {
	c := probetest.Start(t, "echo")
	c.Line()
	c.KillNoReap()
	if p := probe.Real().Process(c.PID()); p.Presence != probe.Exited || p.State.Value != "zombie" {
		t.Errorf("%+v", p)
	}
	if code := c.Wait(); code != -1 {
		t.Errorf("exit code %d", code)
	}
	if p := probe.Real().Process(c.PID()); p.Presence == probe.Exited {
		t.Errorf("%+v", p)
	}
}
