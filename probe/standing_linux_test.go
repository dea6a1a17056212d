package probe_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func standing(s probe.System) (host probe.Host, self probe.Process) {
	at := probe.Standing(s)
	return at.Host, at.Self
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

// Nothing is put together twice, and what can change is not believed for ever.
func TestStandingChanges(t *testing.T) {
	if !hasPIDFD(t) {
		t.Skip("pidfds have no inodes of their own here")
	}
	s := probe.NewUncached()
	first := probe.Standing(s)
	if first.Host.Machine.ID.Known && probe.Standing(s) != first {
		// The clock may have been set, or this thread been stopped between two readings.
		if again := probe.Standing(s); again != probe.Standing(s) {
			t.Error("put together anew, with nothing changed")
		}
	}
	probe.ClocksWereSet(time.Hour)
	now := probe.Standing(s)
	for what, d := range map[string]time.Duration{
		"boot":  now.Host.Boot.StartedAt.Value.Sub(first.Host.Boot.StartedAt.Value),
		"start": now.Self.StartedAt.Value.Sub(first.Self.StartedAt.Value),
	} {
		if d.Abs() > time.Minute {
			t.Errorf("%s: a time from before the clock was set, %v apart", what, d)
		}
	}
}

func TestPID(t *testing.T) {
	for range 2 {
		if got := probe.PID(); got != os.Getpid() {
			t.Errorf("process %d, want %d", got, os.Getpid())
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
			if same := probe.Same(s, &self); !same.Known || !same.Value {
				t.Errorf("%s: this process is itself: %v", name, same)
			}
		}
		another := self
		another.PIDFD.Value++
		another.Start.Value = probe.Ticks(1)
		if same := probe.Same(s, &another); !same.Known || same.Value {
			t.Errorf("%s: this process is another one: %v", name, same)
		}
		nobody := probe.Process{PID: self.PID, Start: probe.Unknown[probe.Start]("", errors.New("x"))}
		if same := probe.Same(s, &nobody); same.Known {
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

// A fork has the descriptor of its parent too, so that only the cleared page tells them apart.
func TestForkBeginsAnew(t *testing.T) {
	s := probe.NewUncached()
	want := probe.NewUncached()
	wantHost, wantSelf := want.Host(), want.Self()
	if !probe.AsFork(s) {
		t.Skip("no pages that are cleared in a fork here")
	}
	host, p := standing(s)
	if p.Start != wantSelf.Start || host.Namespaces.PID != wantHost.Namespaces.PID {
		t.Errorf("a fork says what its parent remembered: %v %v", p.Start, host.Namespaces.PID)
	}
	if same := probe.Same(s, &wantSelf); !same.Known || !same.Value {
		t.Errorf("it is not known again: %v", same)
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
		if same := probe.Same(s, &want); !same.Known || !same.Value {
			t.Errorf("%s: %v", name, same)
		}
		if _, p := standing(s); p.PIDFD.Value != want.PIDFD.Value {
			t.Errorf("%s: pidfd %v, want %v", name, p.PIDFD, want.PIDFD)
		}
	}
}
