package probe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The child processes of the tests of this package.

func init() {
	probetest.Register("sleeper", func(p *probetest.Peer) {
		p.Send("ready")
		p.Wait()
	})
	probetest.Register("viewer", viewer)
	probetest.Register("dead-leader", deadLeader)
	probetest.Register("opener", opener)
	probetest.Register("relay", relay)
}

// needsRoot skips a test that needs privileges.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: namespaces, mounts, other users")
	}
}

const nobody = 65534

func asNobody(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
	}
}

// in starts a child in new namespaces.
func in(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags} }
}

// The answers of viewer, in a form that can be decoded.
type (
	fact struct {
		Value           any
		Unknown, Source string
	}
	process struct {
		PID                                           int
		Presence                                      string
		Readings                                      []probe.Reading
		State, Threads, Start, PIDFD, Name, StartedAt fact
	}
	host struct {
		Boot       struct{ ID, StartedAt fact }
		Machine    struct{ ID, Host fact }
		Namespaces struct{ PID, Time, PIDInitial fact }
		ProcFS     fact
	}
	found struct {
		PIDs       []int
		Incomplete string
	}
)

func (f fact) known() bool { return f.Value != nil }

// viewer changes its surroundings as its arguments say and then answers questions about them.
func viewer(p *probetest.Peer) {
	system := probe.NewUncached()
	for _, arg := range p.Args() {
		words := strings.Split(arg, " ")
		switch words[0] {
		case "private": // mounts of this child are not those of others
			p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		case "mount": // filesystem, folder, options
			p.Check(unix.Mount(words[1], words[2], words[1], 0, strings.Join(words[3:], ",")))
		case "bind": // from, to
			p.Check(unix.Mount(words[1], words[2], "", unix.MS_BIND, ""))
		case "readonly":
			p.Check(unix.Mount("", words[1], "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		case "chroot":
			p.Check(unix.Chroot(words[1]))
			p.Check(unix.Chdir("/"))
		case "nobody":
			p.Check(syscall.Setgroups(nil))
			p.Check(syscall.Setgid(nobody))
			p.Check(syscall.Setuid(nobody))
		case "inner-proc": // the /proc of a pid namespace below, in a folder
			inner := probetest.StartAs(p, in(unix.CLONE_NEWPID), "viewer", "mount proc "+words[1])
			inner.Expect("ready")
		case "look": // what is known before the next change stays known
			system.Self()
			system.Host()
		case "without-pidfd":
			system = probe.NewFaulty(&probe.Faults{PIDFDOpen: unix.EPERM})
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
		words := strings.Split(p.Line(), " ")
		switch words[0] {
		case "self":
			p.SendJSON(system.Self())
		case "process":
			pid, err := strconv.Atoi(words[1])
			p.Check(err)
			seen := system.Process(pid)
			// Through a sight it must look the same, whatever has happened to /proc meanwhile.
			if other := probe.NewSight(system).Process(pid); !sameAnswer(seen, other) {
				p.Check(fmt.Errorf("%+v, and through a sight %+v", seen, other))
			}
			p.SendJSON(seen)
		case "host":
			p.SendJSON(system.Host())
		case "nested":
			pid, err := strconv.Atoi(words[1])
			p.Check(err)
			n := system.Nested(pid)
			var pids []int
			for _, f := range n.Found {
				pids = append(pids, f.PID)
			}
			p.SendJSON(found{pids, fmt.Sprint(n.Incomplete)})
		case "openers":
			f, err := os.Open(words[1])
			p.Check(err)
			o := system.Openers(f.Fd())
			f.Close()
			var pids []int
			for _, opener := range o.Found {
				pids = append(pids, opener.PID)
			}
			p.SendJSON(found{pids, fmt.Sprint(o.Incomplete)})
		case "filesystem":
			f, err := os.Open(words[1])
			p.Check(err)
			fs := system.Filesystem(f.Fd())
			f.Close()
			p.SendJSON([]string{fs.Type.Value, fs.ID.Value, fmt.Sprint(fs.Local)})
		case "selfcheck":
			p.SendJSON(fmt.Sprint(probe.SelfCheck(system)))
		case "thread":
			p.SendJSON(otherThread())
		default:
			p.Fatalf("unknown question %q", words)
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

// view starts a viewer and asks it.
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

func (v view) self() (p process) {
	v.t.Helper()
	v.Send("self")
	v.JSON(&p)
	return p
}

func (v view) process(pid int) (p process) {
	v.t.Helper()
	v.Send(fmt.Sprint("process ", pid))
	v.JSON(&p)
	return p
}

func (v view) host() (h host) {
	v.t.Helper()
	v.Send("host")
	v.JSON(&h)
	return h
}

func (v view) found(question string) (f found) {
	v.t.Helper()
	v.Send(question)
	v.JSON(&f)
	return f
}

func (v view) selfcheck() (text string) {
	v.t.Helper()
	v.Send("selfcheck")
	v.JSON(&text)
	return text
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
		p.Line()
		p.Send("still here")
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// opener opens a file in the way that its first argument says.
func opener(p *probetest.Peer) {
	path := p.Arg(1)
	switch p.Arg(0) {
	case "read":
		_, err := unix.Open(path, unix.O_RDONLY, 0)
		p.Check(err)
	case "path":
		_, err := unix.Open(path, unix.O_PATH, 0)
		p.Check(err)
	case "flock":
		fd, err := unix.Open(path, unix.O_RDWR, 0)
		p.Check(err)
		p.Check(unix.Flock(fd, unix.LOCK_EX))
	case "ofd":
		fd, err := unix.Open(path, unix.O_RDWR, 0)
		p.Check(err)
		p.Check(unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	case "thread": // in a thread that has a table of descriptors of its own
		opened := make(chan error)
		go func() {
			runtime.LockOSThread()
			err := unix.Unshare(unix.CLONE_FILES)
			if err == nil {
				_, err = unix.Open(path, unix.O_RDONLY, 0)
			}
			opened <- err
			select {}
		}()
		p.Check(<-opened)
	case "dead-leader": // in a process whose first thread is dead
		_, err := unix.Open(path, unix.O_RDONLY, 0)
		p.Check(err)
		deadLeader(p)
	case "overlay": // through an overlay whose upper layer the file is in
		p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		dir := filepath.Dir(filepath.Dir(path))
		p.Check(unix.Mount("overlay", dir+"/merged", "overlay", 0,
			"lowerdir="+dir+"/lower,upperdir="+dir+"/upper,workdir="+dir+"/work"))
		_, err := unix.Open(dir+"/merged/"+filepath.Base(path), unix.O_RDWR, 0)
		p.Check(err)
	default:
		p.Fatalf("how?")
	}
	p.Send("open")
	p.Wait()
}

// relay passes descriptor 3 on to a new process and ends, over and over, until its standard input
// is closed.
func relay(p *probetest.Peer) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROBETEST_CHILD=relay")
	cmd.Stdin = os.Stdin
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "passed on")}
	p.Check(cmd.Start())
}

// prctlSetName names the calling thread, in a child the one that gives the process its name.
func prctlSetName(name *byte) error {
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
}
