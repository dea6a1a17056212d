package probe_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

func TestInvalidNumbers(t *testing.T) {
	for _, fault := range []unix.Errno{0, unix.ENOSYS} {
		faults := &probe.Faults{PIDFDOpen: fault}
		s := probe.NewFaulty(faults)
		for _, pid := range []int{0, -1, -os.Getpid(), math.MinInt, math.MaxInt, math.MaxInt32,
			probe.MaxPID + 1} {
			p := s.Process(pid)
			wantPresence(t, p, probe.PresenceUnknown)
			if p.PID != pid || p.Readings[0].Said != "not a valid process number" {
				t.Errorf("%d: %+v", pid, p)
			}
			if n := s.Nested(pid); n.Incomplete == nil || n.Found != nil {
				t.Errorf("%d: nested %+v", pid, n)
			}
		}
		if n := faults.Calls.Load(); n != 0 {
			t.Errorf("%d system calls were made", n)
		}
	}
	// Valid, and above every pid_max.
	wantPresence(t, probe.Real().Process(probe.MaxPID), probe.Missing)
}

// No answer but ESRCH may ever support that a process is missing, whether it is or not.
func TestErrnos(t *testing.T) {
	dead := probetest.Start(t, "sleeper")
	dead.Expect("ready")
	dead.Kill()
	pids := map[string]int{"live": os.Getpid(), "dead": dead.PID()}
	all := []unix.Errno{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOENT, unix.ENOSYS, unix.EMFILE,
		unix.ENFILE, unix.ENOMEM, unix.ENODEV, unix.EIO, unix.EAGAIN, unix.EBADF}
	for who, pid := range pids {
		for _, open := range all {
			p := probe.NewFaulty(&probe.Faults{PIDFDOpen: open}).Process(pid)
			fallback := open == unix.EPERM || open == unix.ENOSYS
			want := probe.PresenceUnknown
			if fallback && who == "live" {
				want = probe.Running
			} else if fallback {
				want = probe.Missing
			}
			if p.Presence != want {
				t.Errorf(
					"%s, pidfd_open %v: %v, want %v: %+v",
					who,
					open,
					p.Presence,
					want,
					p.Readings,
				)
			}
			for _, kill := range all {
				p := probe.NewFaulty(&probe.Faults{PIDFDOpen: open, Kill: kill}).Process(pid)
				want := probe.PresenceUnknown
				if fallback && kill == unix.EPERM && who == "live" {
					want = probe.Running // somebody else's, and /proc can be read
				}
				if p.Presence != want {
					t.Errorf(
						"%s, pidfd_open %v, kill %v: %v, want %v",
						who,
						open,
						kill,
						p.Presence,
						want,
					)
				}
			}
		}
		for _, kill := range append(all, 0) {
			// The two answers contradict one another.
			p := probe.NewFaulty(&probe.Faults{
				PIDFDOpen: unix.ESRCH, Kill: kill, KillSaysAlive: kill == 0,
			}).Process(pid)
			if p.Presence != probe.PresenceUnknown {
				t.Errorf("%s, pidfd_open ESRCH, kill %v: %v", who, kill, p.Presence)
			}
		}
	}
	for _, poll := range []unix.Errno{unix.ENOMEM, unix.EINVAL, unix.EFAULT} {
		p := probe.NewFaulty(&probe.Faults{Poll: poll}).Process(os.Getpid())
		if p.Presence != probe.PresenceUnknown || !p.Start.Known {
			t.Errorf("poll %v: %v, start %v", poll, p.Presence, p.Start)
		}
	}
}

// The same through the real system call interface, with a real program under strace.
func TestInjectedErrnos(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace: ", err)
	}
	owner := probetest.Start(t, "sleeper")
	owner.Expect("ready")
	for inject, want := range map[string]string{
		"pidfd_open:error=EMFILE": "unknown", "pidfd_open:error=EPERM": "running",
		"pidfd_open:error=ENOSYS": "running", "pidfd_open:error=EINVAL": "unknown",
		"pidfd_open:error=ESRCH": "unknown", "pidfd_open:error=ENOMEM": "unknown",
		"kill:error=EINVAL": "running", "kill:error=ESRCH": "running",
		"poll,ppoll:error=ENOMEM": "unknown", "statx:error=ENOSYS": "running",
		"openat:error=EACCES": "running", "fstatfs:error=EIO": "running",
	} {
		log := filepath.Join(t.TempDir(), "log")
		v := startView(t, func(cmd *exec.Cmd) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			calls, _, _ := strings.Cut(inject, ":")
			options := []string{strace, "-f", "-qq", "-o", log,
				"-e", "trace=tkill,tgkill,pidfd_send_signal,kill," + calls, "-e", "inject=" + inject}
			if calls == "openat" { // only what is opened in this folder
				options = append(options, "-P", fmt.Sprintf("/proc/%d", owner.PID()))
			}
			options = append(options, program)
			cmd.Env = append(cmd.Env, "GODEBUG=asyncpreemptoff=1")
			cmd.Path, cmd.Args = strace, append(options, cmd.Args[1:]...)
		})
		p := v.process(owner.PID())
		if p.Presence != want {
			t.Errorf("%s: %s, want %s: %+v", inject, p.Presence, want, p.Readings)
		}
		if strings.HasPrefix(inject, "openat") && p.Start.known() {
			t.Errorf("%s: start is %+v", inject, p.Start)
		}
		v.Close()
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "SIG") && strings.Contains(line, "kill(") {
				t.Errorf("%s: a signal was sent: %s", inject, line)
			}
		}
	}
}

func TestNoDescriptorLeaks(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tid := otherThread()
	round := func() {
		for _, s := range systems() {
			s.Self()
			s.Host()
			s.Filesystem(f.Fd())
			for _, pid := range []int{os.Getpid(), 1, tid, probe.MaxPID} {
				s.Process(pid)
			}
		}
		probe.Real().Nested(1)
		probe.Real().Openers(f.Fd())
		probe.SelfCheck(probe.Real())
	}
	round()
	before := count()
	for range 50 {
		round()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// Processes come and go while they are looked at. One that is there for certain is never missing,
// and one start belongs to one pidfd.
func TestRaces(t *testing.T) {
	var pids [4]sync.Map // pidfd inode by start
	done := make(chan struct{})
	var running sync.WaitGroup
	current := make(chan int, 1)
	current <- os.Getpid()
	for i := range pids {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				pid := <-current
				current <- pid
				p := probe.Real().Process(pid)
				if p.Start.Known && p.PIDFD.Known {
					key := fmt.Sprint(pid, p.Start.Value)
					if old, loaded := pids[i].LoadOrStore(key, p.PIDFD.Value); loaded &&
						old != p.PIDFD.Value {
						t.Errorf("process %s has the pidfds %v and %v", key, old, p.PIDFD.Value)
					}
				}
			}
		})
	}
	for range 30 {
		child := probetest.Start(t, "sleeper")
		child.Expect("ready")
		<-current
		current <- child.PID()
		for range 20 {
			wantPresence(t, probe.Real().Process(child.PID()), probe.Running)
		}
		child.Kill()
		if p := probe.Real().Process(child.PID()); p.Presence == probe.Exited {
			t.Errorf("reaped, and %v", p.Presence)
		}
	}
	close(done)
	running.Wait()
}
