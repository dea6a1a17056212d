package probe_test

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// sameAnswer compares what two looks at one process, that does nothing meanwhile, have to say in
// common.
func sameAnswer(a, b probe.Process) bool {
	same := func(a, b string) bool { return a == b }
	return a.PID == b.PID && a.Presence == b.Presence && same(a.PIDFD.String(), b.PIDFD.String()) &&
		same(a.Start.String(), b.Start.String()) && same(a.Name.String(), b.Name.String()) &&
		same(a.Threads.String(), b.Threads.String())
}

// A sight says of every number what the system says, also where it goes a shorter way.
func TestSight(t *testing.T) {
	living, killed := probetest.Start(t, "sleeper"), probetest.Start(t, "sleeper")
	living.Expect("ready")
	killed.Expect("ready")
	killed.Kill()
	leader := probetest.Start(t, "dead-leader")
	leader.Line()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, s := range map[string]probe.System{
		"remembered": probe.Real(), "new": probe.NewUncached(),
		"without pidfd": probe.NewFaulty(&probe.Faults{PIDFDOpen: unix.ENOSYS}),
		"forbidden":     probe.NewFaulty(&probe.Faults{PIDFDOpen: unix.EPERM, Kill: unix.EPERM}),
		"no poll":       probe.NewFaulty(&probe.Faults{Poll: unix.EIO}),
	} {
		sight := probe.NewSight(s)
		for range 2 { // the first look finds out what the second one goes by
			for who, pid := range map[string]int{
				"a child": living.PID(), "a dead one": killed.PID(), "a dead leader": leader.PID(),
				"process 1": 1, "nobody": probe.MaxPID, "no number": 0, "a group": -1,
				"a thread": unix.Gettid(), "itself": os.Getpid(),
			} {
				if want, got := s.Process(pid), sight.Process(pid); !sameAnswer(want, got) {
					t.Errorf("%s, %s: %+v, want %+v", name, who, got, want)
				}
			}
		}
		host, want := sight.Host(), s.Host()
		if host.Boot.ID != want.Boot.ID || host.OS != want.OS ||
			host.Namespaces != want.Namespaces || host.Machine.ID != want.Machine.ID {
			t.Errorf("%s: %+v, want %+v", name, host, want)
		}
	}
	if !probe.KnowsProc(probe.Real()) && hasUniqueMounts() && probe.Real().Host().ProcFS.Known {
		t.Error("the shorter way was never gone")
	}
}

// hasUniqueMounts reports whether this kernel gives mounts numbers that are never given again.
func hasUniqueMounts() bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, "/proc", 0, unix.STATX_MNT_ID_UNIQUE, &st)
	return err == nil && st.Mask&unix.STATX_MNT_ID_UNIQUE != 0
}

// A process that ends between two looks through one sight is seen to have ended: nothing about
// others is remembered.
func TestSightForgets(t *testing.T) {
	child := probetest.Start(t, "sleeper")
	child.Expect("ready")
	sight := probe.NewSight(probe.Real())
	for range 2 {
		wantPresence(t, sight.Process(child.PID()), probe.Running)
	}
	child.Kill()
	wantPresence(t, sight.Process(child.PID()), probe.Missing)
}
