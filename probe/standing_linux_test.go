package probe_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func standing(s probe.System) (host probe.Host, self probe.Process) {
	probe.Standing(s, &host, &self)
	return host, self
}

func TestStandingIsSelfAndHost(t *testing.T) {
	for name, s := range map[string]probe.System{
		"remembered": probe.Real(), "new": probe.NewUncached(),
		"without pidfd": probe.NewFaulty(&probe.Faults{PIDFDOpen: unix.ENOSYS}),
	} {
		for range 2 {
			host, p := standing(s)
			wantHost, want := s.Host(), s.Self()
			if p.PID != os.Getpid() || p.Start != want.Start || p.PIDFD.Value != want.PIDFD.Value ||
				p.PIDFD.Known != want.PIDFD.Known || p.Presence != probe.Running {
				t.Errorf("%s: %+v, want %+v", name, p, want)
			}
			if host.Boot.ID != wantHost.Boot.ID || host.Namespaces != wantHost.Namespaces ||
				host.Machine != wantHost.Machine || host.OS != wantHost.OS {
				t.Errorf("%s: %+v, want %+v", name, host, wantHost)
			}
			// Two readings of two clocks, so not always the same millisecond.
			for _, d := range []int64{
				p.StartedAt.Value.Sub(want.StartedAt.Value).Abs().Milliseconds(),
				host.Boot.StartedAt.Value.Sub(wantHost.Boot.StartedAt.Value).Abs().Milliseconds(),
			} {
				if d > 1000 {
					t.Errorf("%s: the times are %d ms apart", name, d)
				}
			}
		}
	}
}

func TestSame(t *testing.T) {
	without := &probe.Faults{PIDFDOpen: unix.ENOSYS}
	for name, s := range map[string]probe.System{
		"pidfd": probe.NewUncached(), "start": probe.NewFaulty(without),
	} {
		self := s.Self()
		for range 2 {
			if same := probe.Same(s, self); !same.Known || !same.Value {
				t.Errorf("%s: this process is itself: %v", name, same)
			}
		}
		another := self
		another.PIDFD.Value++
		another.Start.Value = probe.Ticks(1)
		if same := probe.Same(s, another); !same.Known || same.Value {
			t.Errorf("%s: this process is another one: %v", name, same)
		}
		nobody := probe.Process{PID: self.PID, Start: probe.Unknown[probe.Start]("", errors.New("x"))}
		if same := probe.Same(s, nobody); same.Known {
			t.Errorf("%s: compared with nothing: %v", name, same)
		}
	}
}

// A copy that was restored from a checkpoint has the memory of the original, and the kernel calls
// it another process.
func TestCopyBeginsAnew(t *testing.T) {
	if !hasPIDFD(t) {
		t.Skip("pidfds have no inodes of their own here")
	}
	s := probe.NewUncached()
	probe.AsCopy(s)
	want := probe.NewUncached()
	host, p := standing(s)
	wantHost, wantSelf := want.Host(), want.Self()
	if p.PIDFD != wantSelf.PIDFD || p.Start != wantSelf.Start || host.Boot.ID != wantHost.Boot.ID {
		t.Errorf("a copy says what the original remembered: %v %v %v", p.PIDFD, p.Start,
			host.Boot.ID)
	}
}

func TestForkDoesNotBelieve(t *testing.T) {
	if unix.Getpid() == 1 {
		t.Skip("process 1 must not fork without the runtime")
	}
	seen, ok, err := probe.ForkedPage(probe.Real())
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("no pages that are cleared in a fork here")
	}
	if seen != 0 {
		t.Error("a fork takes what its parent remembers for its own")
	}
}

// Somebody may close descriptors that are not theirs, or put another file behind the number.
func TestOwnPIDFDIsTakenAway(t *testing.T) {
	if !hasPIDFD(t) {
		t.Skip("pidfds have no inodes of their own here")
	}
	child := probetest.Start(t, "sleeper")
	other, err := unix.PidfdOpen(child.PID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	s := probe.NewUncached()
	want := s.Self()
	for name, take := range map[string]func(fd int) error{
		"closed":          unix.Close,
		"another process": func(fd int) error { return unix.Dup3(other, fd, unix.O_CLOEXEC) },
	} {
		if err := take(probe.OwnPIDFD(s)); err != nil {
			t.Fatal(err)
		}
		if same := probe.Same(s, want); !same.Known || !same.Value {
			t.Errorf("%s: %v", name, same)
		}
		if _, p := standing(s); p.PIDFD.Value != want.PIDFD.Value {
			t.Errorf("%s: pidfd %v, want %v", name, p.PIDFD, want.PIDFD)
		}
	}
}
