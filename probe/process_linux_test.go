package probe_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// systems are the two ways to find out: with pidfds and without.
func systems() map[string]probe.System {
	return map[string]probe.System{
		"pidfd": probe.Real(),
		"kill":  probe.NewFaulty(&probe.Faults{PIDFDOpen: unix.ENOSYS}),
	}
}

func eachSystem(t *testing.T, test func(*testing.T, probe.System)) {
	for name, s := range systems() {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func wantPresence(t *testing.T, p probe.Process, want probe.Presence) {
	t.Helper()
	if p.Presence != want {
		t.Fatalf("process %d is %v, want %v: %+v", p.PID, p.Presence, want, p.Readings)
	}
	if len(p.Readings) == 0 {
		t.Fatalf("process %d is %v without any reading", p.PID, p.Presence)
	}
}

func wantKnown[T any](t *testing.T, what string, f probe.Fact[T]) T {
	t.Helper()
	if !f.Known {
		t.Fatalf("%s is %v", what, f)
	}
	return f.Value
}

func wantUnknown[T any](t *testing.T, what string, f probe.Fact[T]) {
	t.Helper()
	if f.Known || f.Err == nil {
		t.Fatalf("%s is %v, want a reason why it is not known", what, f)
	}
}

// hasPIDFD reports whether this kernel and this program have pidfd inodes.
func hasPIDFD(t *testing.T) bool {
	t.Helper()
	f := probe.Real().Self().PIDFD
	if !f.Known && !errors.Is(f.Err, errors.ErrUnsupported) {
		t.Fatalf("pidfd inode is %v", f)
	}
	if strconv.IntSize < 64 && f.Known {
		t.Fatal("a pidfd inode in a 32-bit program")
	}
	return f.Known
}

func TestSelf(t *testing.T) {
	s := probe.NewUncached()
	before := time.Now()
	self, again := s.Self(), s.Self()
	wantPresence(t, self, probe.Running)
	if self.PID != os.Getpid() {
		t.Errorf("PID is %d", self.PID)
	}
	start := wantKnown(t, "start", self.Start)
	if start.Kind() != "ticks" || again.Start != self.Start {
		t.Errorf("start is %v, then %v", start, again.Start)
	}
	if hasPIDFD(t) && (!again.PIDFD.Known || again.PIDFD != self.PIDFD) {
		t.Errorf("pidfd is %v, then %v", self.PIDFD, again.PIDFD)
	}
	started := wantKnown(t, "startedAt", self.StartedAt)
	if started.After(before.Add(time.Minute)) || started.Before(before.Add(-time.Hour*24)) {
		t.Errorf("started at %v", started)
	}
	if wantKnown(t, "threads", self.Threads) < 1 || wantKnown(t, "name", self.Name) == "" {
		t.Errorf("threads %v, name %v", self.Threads, self.Name)
	}
	p := s.Process(os.Getpid())
	wantPresence(t, p, probe.Running)
	if p.Start.Value != self.Start.Value || p.PIDFD != self.PIDFD {
		t.Errorf(
			"seen from outside: %v %v, from inside: %v %v",
			p.Start,
			p.PIDFD,
			self.Start,
			self.PIDFD,
		)
	}
}

// The start must not depend on which thread asks.
func TestSelfOnAnyThread(t *testing.T) {
	want := probe.Real().Self().Start.Value
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
			if got := probe.NewUncached().Self().Start; got.Value != want {
				t.Errorf("thread %d: start is %v, want %v", unix.Gettid(), got, want)
			}
		})
	}
	done.Wait()
}

func TestRunning(t *testing.T) {
	child := startView(t, nil)
	inside := child.self()
	eachSystem(t, func(t *testing.T, s probe.System) {
		first := s.Process(child.PID())
		wantPresence(t, first, probe.Running)
		if got := fmt.Sprint(wantKnown(t, "start", first.Start)); got != inside.Start.Value {
			t.Errorf("start is %v from outside and %v from inside", got, inside.Start.Value)
		}
		for range 1000 {
			p := s.Process(child.PID())
			wantPresence(t, p, probe.Running)
			if p.Start != first.Start || p.PIDFD.Value != first.PIDFD.Value {
				t.Fatalf(
					"start %v, then %v; pidfd %v, then %v",
					first.Start,
					p.Start,
					first.PIDFD,
					p.PIDFD,
				)
			}
		}
	})
	if hasPIDFD(t) {
		if got := probe.Real().Process(child.PID()).PIDFD; fmt.Sprint(got) !=
			fmt.Sprintf("%.0f", inside.PIDFD.Value) {
			t.Errorf("pidfd is %v from outside and %v from inside", got, inside.PIDFD.Value)
		}
	}
}

func TestZombie(t *testing.T) {
	child := probetest.Start(t, "sleeper")
	child.Expect("ready")
	alive := probe.Real().Process(child.PID())
	child.KillNoReap()
	eachSystem(t, func(t *testing.T, s probe.System) {
		p := s.Process(child.PID())
		wantPresence(t, p, probe.Exited)
		if state := wantKnown(t, "state", p.State); state != "zombie" {
			t.Errorf("state is %v", state)
		}
		if p.Start.Value != alive.Start.Value || !p.Start.Known {
			t.Errorf("start is %v, was %v", p.Start, alive.Start)
		}
	})
	if p := probe.Real().Process(child.PID()); p.PIDFD != alive.PIDFD {
		t.Errorf("pidfd is %v, was %v", p.PIDFD, alive.PIDFD)
	}
}

func TestReaped(t *testing.T) {
	child := probetest.Start(t, "sleeper")
	child.Expect("ready")
	child.Kill()
	eachSystem(t, func(t *testing.T, s probe.System) {
		p := s.Process(child.PID())
		wantPresence(t, p, probe.Missing)
		wantUnknown(t, "start", p.Start)
		wantUnknown(t, "pidfd", p.PIDFD)
		wantUnknown(t, "state", p.State)
		if last := p.Readings[len(p.Readings)-1]; last.Said != "no such process" {
			t.Errorf("last reading: %+v", last)
		}
	})
}

func TestDeadLeaderWithLiveThreads(t *testing.T) {
	child := probetest.Start(t, "dead-leader")
	child.Expect("dead")
	eachSystem(t, func(t *testing.T, s probe.System) {
		p := s.Process(child.PID())
		wantPresence(t, p, probe.Running)
		if p.State.Value != "zombie" || p.Threads.Value < 2 {
			t.Errorf("state %v, threads %v: not what this test is about", p.State, p.Threads)
		}
	})
	child.Send("speak")
	child.Expect("still here")
	child.KillNoReap()
	eachSystem(t, func(t *testing.T, s probe.System) {
		wantPresence(t, s.Process(child.PID()), probe.Exited)
	})
}

func TestStopped(t *testing.T) {
	child := probetest.Start(t, "sleeper")
	child.Expect("ready")
	child.Stop()
	eachSystem(t, func(t *testing.T, s probe.System) {
		p := s.Process(child.PID())
		wantPresence(t, p, probe.Running)
		if p.State.Value != "stopped" {
			t.Errorf("state is %v", p.State)
		}
	})
	child.Cont()
	eachSystem(t, func(t *testing.T, s probe.System) {
		p := s.Process(child.PID())
		wantPresence(t, p, probe.Running)
		if p.State.Value == "stopped" {
			t.Errorf("state is %v", p.State)
		}
	})
}

func TestThreadOnly(t *testing.T) {
	child := startView(t, nil)
	var tid int
	child.Send("thread")
	child.JSON(&tid)
	for _, tid := range []int{tid, otherThread()} {
		eachSystem(t, func(t *testing.T, s probe.System) {
			p := s.Process(tid)
			wantPresence(t, p, probe.ThreadOnly)
			wantUnknown(t, "start", p.Start)
			wantUnknown(t, "pidfd", p.PIDFD)
		})
	}
}

func TestExecKeepsIdentity(t *testing.T) {
	child := probetest.Start(t, "execs")
	child.Expect("ready")
	before := probe.Real().Process(child.PID())
	child.Send("now")
	child.Expect("ready")
	after := probe.Real().Process(child.PID())
	wantPresence(t, after, probe.Running)
	if before.Start != after.Start || before.PIDFD != after.PIDFD || !after.Start.Known {
		t.Errorf("%v %v before, %v %v after", before.Start, before.PIDFD, after.Start, after.PIDFD)
	}
}

func TestUglyNames(t *testing.T) {
	for _, name := range []string{") Z 1 (\n 9", "\xff\xfe(\x80", "a b)", ")", " ", "((((((((((((((("} {
		child := probetest.Start(t, "named", name)
		child.Expect("ready")
		eachSystem(t, func(t *testing.T, s probe.System) {
			p := s.Process(child.PID())
			wantPresence(t, p, probe.Running)
			if p.Name.Value != name {
				t.Errorf("name is %q, want %q", p.Name.Value, name)
			}
			if !p.Start.Known || p.State.Value == "zombie" {
				t.Errorf("name %q: %+v", name, p)
			}
		})
		child.Kill()
	}
}

func TestOtherUser(t *testing.T) {
	needsRoot(t)
	owner := probetest.Start(t, "sleeper")
	owner.Expect("ready")
	want := probe.Real().Process(owner.PID())
	for _, args := range [][]string{nil, {"without-pidfd"}} {
		v := startView(t, asNobody, args...)
		p := v.process(owner.PID())
		if p.Presence != "running" || p.Start.Value != string(want.Start.Value) {
			t.Errorf("%v: %+v", args, p)
		}
		if h := v.host(); !h.Boot.ID.known() || !h.ProcFS.known() || !h.Namespaces.PID.known() {
			t.Errorf("%v: %+v", args, h)
		}
		if text := v.selfcheck(); text != "<nil>" {
			t.Errorf("%v: self check: %s", args, text)
		}
	}
}

// The facts must not depend on what the environment says.
func TestEnvironment(t *testing.T) {
	self := probe.Real().Self()
	for _, env := range [][]string{
		{"LC_ALL=de_DE.UTF-8", "TZ=Pacific/Kiritimati"}, {"LANG=ar_EG.UTF-8"}, {"PATH=/nonexistent"},
		{"HOST_PROC=/nonexistent", "HOST_SYS=/nonexistent", "HOST_ETC=/nonexistent"},
	} {
		v := startView(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, env...) })
		p := v.process(os.Getpid())
		if p.Presence != "running" || p.Start.Value != string(self.Start.Value) {
			t.Errorf("%v: %+v", env, p)
		}
		if h := v.host(); h.Boot.ID.Value != probe.Real().Host().Boot.ID.Value {
			t.Errorf("%v: boot %v", env, h.Boot.ID)
		}
	}
}

func init() {
	probetest.Register("execs", func(p *probetest.Peer) {
		p.Send("ready")
		p.Line()
		p.Exec("sleeper")
	})
	probetest.Register("named", func(p *probetest.Peer) {
		name, err := unix.BytePtrFromString(p.Arg(0))
		p.Check(err)
		p.Check(prctlSetName(name))
		p.Send("ready")
		p.Wait()
	})
}
