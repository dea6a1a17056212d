package identity_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The child processes of the tests of this package, and how to talk to them.

func init() {
	probetest.Register("viewer", viewer)
	probetest.Register("dead-leader", deadLeader)
}

// needsRoot skips a test that needs privileges.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: namespaces, mounts, other users")
	}
}

const nobody = 65534

// in starts a child in new namespaces.
func in(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags} }
}

// startsOnly is the real system as one without pidfd inodes sees it: Linux before 6.9, 32 bits.
type startsOnly struct{ probe.System }

var errNoInodes = errors.New("pidfds have no inodes of their own")

func (s startsOnly) Self() probe.Process {
	p := s.System.Self()
	p.PIDFD = probe.Unknown[uint64]("fstat(pidfd)", errNoInodes)
	return p
}

func (s startsOnly) Process(pid int) probe.Process {
	p := s.System.Process(pid)
	p.PIDFD = probe.Unknown[uint64]("fstat(pidfd)", errNoInodes)
	return p
}

var starts = startsOnly{probe.Real()}

// hasPIDFD reports whether this kernel and this program have pidfd inodes.
func hasPIDFD() bool { return probe.Real().Self().PIDFD.Known }

// viewer changes its surroundings as its arguments say, and then answers questions about processes.
func viewer(p *probetest.Peer) {
	for _, arg := range p.Args() {
		words := strings.Split(arg, " ")
		switch words[0] {
		case "private": // mounts of this child are not those of others
			p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		case "proc": // a /proc of its own, with an option
			p.Check(unix.Mount("proc", "/proc", "proc", 0, strings.Join(words[1:], "")))
		case "bind": // from, to
			p.Check(unix.Mount(words[1], words[2], "", unix.MS_BIND, ""))
		case "chroot":
			p.Check(unix.Chroot(words[1]))
			p.Check(unix.Chdir("/"))
		case "nobody":
			p.Check(syscall.Setgroups(nil))
			p.Check(syscall.Setgid(nobody))
			p.Check(syscall.Setuid(nobody))
		case "hostname":
			p.Check(unix.Sethostname([]byte(words[1])))
		case "time": // a time namespace with another boot time, which begins with exec
			p.Check(unix.Unshare(unix.CLONE_NEWTIME))
			p.Check(os.WriteFile("/proc/self/timens_offsets",
				[]byte("boottime "+words[1]+" 0\n"), 0))
			p.Exec("viewer")
		default:
			p.Fatalf("unknown argument %q", arg)
		}
	}
	p.Send("ready")
	for {
		switch question, arg, _ := strings.Cut(p.Line(), " "); question {
		case "current":
			id, err := identity.Current()
			p.Check(err)
			p.Send(id.String())
		case "of":
			pid, err := strconv.Atoi(arg)
			p.Check(err)
			id, err := identity.Of(pid)
			p.Send(fmt.Sprint(errors.Is(err, identity.ErrNoProcess), " ", id))
		case "judge", "judge-by-start":
			var id identity.Identity
			p.Check(id.UnmarshalText([]byte(arg)))
			if question == "judge" {
				p.SendJSON(identity.Judge(id))
			} else {
				p.SendJSON(identity.JudgeOn(starts, id))
			}
		case "thread":
			p.Send(strconv.Itoa(otherThread()))
		case "exec":
			p.Exec("viewer")
		default:
			p.Fatalf("unknown question %q", question)
		}
	}
}

// otherThread returns the number of a thread of this process that is not the first one and does
// not end.
func otherThread() int {
	tids := make(chan int)
	for range 2 {
		go func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			select {}
		}()
	}
	tid := <-tids
	if other := <-tids; tid == os.Getpid() {
		return other
	}
	return tid
}

// deadLeader ends the first thread of its process and goes on in others.
func deadLeader(p *probetest.Peer) {
	// The main goroutine has the first thread, see probetest.
	go func() {
		for {
			text, err := os.ReadFile("/proc/self/stat")
			p.Check(err)
			if strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')'):]), ") Z ") {
				break
			}
			runtime.Gosched()
		}
		p.Send("dead")
		p.Wait()
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// view is a viewer that can be asked.
type view struct {
	t *testing.T
	*probetest.Child
}

func startView(t *testing.T, change func(*exec.Cmd), args ...string) view {
	t.Helper()
	v := view{t, probetest.StartAs(t, change, "viewer", args...)}
	v.Expect("ready")
	return v
}

// current returns who the child says that it is.
func (v view) current() (id identity.Identity) {
	v.t.Helper()
	if text := v.Ask("current"); id.UnmarshalText([]byte(text)) != nil {
		v.t.Fatalf("%s", text)
	}
	return id
}

// judge returns what the child says about a process.
func (v view) judge(id identity.Identity) (f identity.Finding) {
	v.t.Helper()
	v.Send("judge " + id.String())
	v.JSON(&f)
	return f
}

// judgeByStart is judge on a kernel without pidfd inodes.
func (v view) judgeByStart(id identity.Identity) (f identity.Finding) {
	v.t.Helper()
	v.Send("judge-by-start " + id.String())
	v.JSON(&f)
	return f
}

func current(t *testing.T) identity.Identity {
	t.Helper()
	id, err := identity.Current()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func of(t *testing.T, pid int) identity.Identity {
	t.Helper()
	id, err := identity.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// evidenceOnly drops what is for people.
func evidenceOnly(id identity.Identity) identity.Identity {
	return identity.Identity{OS: id.OS, PID: id.PID, Boot: id.Boot, Start: id.Start,
		PIDFD: id.PIDFD, PIDNS: id.PIDNS, TimeNS: id.TimeNS}
}

// wantBoth judges with and without pidfd inodes.
func wantBoth(t *testing.T, name string, id identity.Identity, want string) {
	t.Helper()
	wantFinding(t, name, identity.Judge(id), want)
	wantFinding(t, name+", by start", identity.JudgeOn(starts, id), want)
}
