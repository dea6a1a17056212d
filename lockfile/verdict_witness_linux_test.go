package lockfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// witness is a child that changes its surroundings as its arguments say and then, a line of answer
// for each line, holds locks and looks at them:
//
//	acquire PATH [MODE]  "held ID FENCE" or "failed …"
//	once PATH            acquires and releases: "ok" or the error
//	unlock               gives the kernel lock of the held record up, and nothing else
//	keep                 starts a child that inherits the record's descriptor: its number
//	release              "ok" or the error
//	inspect PATH, try PATH, recover PATH
//	                     an answer, as JSON
//	reuse PATH           lets a child acquire and die, and another one get its number: that number
//	list DIR             what List yields, as JSON
//	behead               ends the first thread of the process, and goes on in others: "ok"
//	pid                  its number
//	at NUMBER            starts a child with that number in this pid namespace: "ok"
//	end                  kills the children that at started, and reaps them: "ok"
func init() {
	probetest.Register("verdict-witness", witness)
	probetest.Register("verdict-sleeper", func(p *probetest.Peer) {
		p.Send("ready")
		p.Wait()
	})
}

func witness(p *probetest.Peer) {
	surround(p)
	p.Send("ready")
	w := &witnessing{p: p}
	for {
		words := strings.Split(p.Line(), " ")
		if words[0] == "behead" {
			break
		}
		w.do(words[0], words[1:])
	}
	go func() {
		for leaderLives(p) {
			runtime.Gosched()
		}
		p.Send("ok")
		for {
			words := strings.Split(p.Line(), " ")
			w.do(words[0], words[1:])
		}
	}()
	// This goroutine has the first thread, see probetest.
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func leaderLives(p *probetest.Peer) bool {
	text, err := os.ReadFile("/proc/self/stat")
	p.Check(err)
	return !strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')'):]), ") Z ")
}

// surround makes the surroundings that the arguments ask for.
func surround(p *probetest.Peer) {
	for _, arg := range p.Args() {
		words := strings.Split(arg, " ")
		switch words[0] {
		case "private": // mounts of this child are not those of others
			p.Check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		case "mount": // filesystem, folder, options
			p.Check(unix.Mount(words[1], words[2], words[1], 0, strings.Join(words[3:], ",")))
		case "bind": // from, to
			p.Check(unix.Mount(words[1], words[2], "", unix.MS_BIND, ""))
		case "chroot":
			p.Check(unix.Chroot(words[1]))
			p.Check(unix.Chdir("/"))
		case "host":
			p.Check(unix.Sethostname([]byte(words[1])))
		case "user":
			id, err := strconv.Atoi(words[1])
			p.Check(err)
			p.Check(syscall.Setgroups(nil))
			p.Check(syscall.Setgid(id))
			p.Check(syscall.Setuid(id))
		case "time": // a time namespace with another boot time, which begins with exec
			p.Check(unix.Unshare(unix.CLONE_NEWTIME))
			p.Check(os.WriteFile("/proc/self/timens_offsets",
				[]byte("boottime "+words[1]+" 0\n"), 0))
			p.Exec("verdict-witness")
		default:
			p.Fatalf("unknown argument %q", arg)
		}
	}
}

type witnessing struct {
	p        *probetest.Peer
	lock     *lockfile.Lock
	children []*probetest.Child
}

func (w *witnessing) do(verb string, args []string) {
	p := w.p
	switch verb {
	case "acquire":
		opts := lockfile.Options{}
		if len(args) > 1 {
			mode, err := strconv.ParseUint(args[1], 8, 32)
			p.Check(err)
			opts.Mode = fs.FileMode(mode)
		}
		var err error
		if w.lock, err = lockfile.Acquire(context.Background(), args[0], opts); err != nil {
			p.Send("failed " + oneLine(err))
			return
		}
		p.Send("held " + w.lock.ID() + " " + w.lock.Token().String())
	case "once":
		lock, err := lockfile.Acquire(context.Background(), args[0], lockfile.Options{})
		if err == nil {
			err = lock.Release()
		}
		p.Send(outcome(err))
	case "unlock":
		p.Send(outcome(unix.FcntlFlock(w.lock.Handle(), unix.F_OFD_SETLK,
			&unix.Flock_t{Type: unix.F_UNLCK})))
	case "keep":
		p.Send(strconv.Itoa(w.keep()))
	case "release":
		p.Send(outcome(w.lock.Release()))
	case "inspect", "try", "recover":
		p.SendJSON(askLock(verb, args[0], lockfile.Options{}))
	case "reuse":
		p.Send(strconv.Itoa(w.reuse(args[0])))
	case "list":
		var all []listedLock
		for in, err := range lockfile.List(args[0], lockfile.Options{}) {
			all = append(all, listedLock{in, errText(err)})
		}
		p.SendJSON(all)
	case "pid":
		p.Send(strconv.Itoa(os.Getpid()))
	case "at":
		pid, err := strconv.Atoi(args[0])
		p.Check(err)
		if c := at(p, pid); c != nil {
			w.children = append(w.children, c)
			p.Send("ok")
			return
		}
		p.Send("another process or thread has it")
	case "end":
		for _, c := range w.children {
			c.Kill()
		}
		p.Send("ok")
	default:
		p.Fatalf("what is %s?", verb)
	}
}

// keep starts a process that has the record open and outlives this one, as a command of a killed
// wrapper does. It ends when the test closes the pipe that it has from descriptor 3 of this
// process.
func (w *witnessing) keep() int {
	fd, err := unix.FcntlInt(w.lock.Handle(), unix.F_DUPFD_CLOEXEC, 0)
	w.p.Check(err)
	inherited := os.NewFile(uintptr(fd), "record")
	defer inherited.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROBETEST_CHILD=verdict-sleeper")
	cmd.Stdin = os.NewFile(3, "pipe")
	cmd.ExtraFiles = []*os.File{inherited}
	w.p.Check(cmd.Start())
	return cmd.Process.Pid
}

// reuse lets one child acquire the lock and die, and gives its number to another one that lives.
func (w *witnessing) reuse(path string) int {
	for range 50 {
		holder := probetest.Start(w.p, "verdict-witness")
		holder.Expect("ready")
		if got := holder.Ask("acquire " + path); !strings.HasPrefix(got, "held ") {
			w.p.Fatalf("the holder %s", got)
		}
		start := probe.Real().Process(holder.PID()).Start.Value
		holder.Kill()
		if heir := at(w.p, holder.PID()); heir != nil {
			if probe.Real().Process(heir.PID()).Start.Value != start {
				return holder.PID()
			}
			heir.Kill() // both started within 10 ms
		}
		// Or a thread of this process has the number now, for good. Begin again with another one.
		w.p.Check(os.Remove(path + ".lock"))
	}
	w.p.Fatalf("no number could be used again")
	return 0
}

// at starts a sleeper with that number in this process's pid namespace, nil when that does not
// work.
func at(tb probetest.TB, pid int) *probetest.Child {
	for range 20 {
		if os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0) != nil {
			return nil
		}
		if c := probetest.Start(tb, "verdict-sleeper"); c.PID() == pid {
			c.Expect("ready")
			return c
		} else {
			c.Kill()
		}
	}
	return nil
}

// listedLock is what List yields.
type listedLock struct {
	Inspection lockfile.Inspection
	Err        string
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lockAnswer is what one question about a lock gave.
type lockAnswer struct {
	Inspection lockfile.Inspection // of Inspect, or of the BusyError
	Busy       bool                // a BusyError
	Got        bool                // try: it was acquired, and released again
	Recovered  *lockfile.Recovered
	Err        string
}

// askLock puts one question about the lock of path.
func askLock(verb, path string, opts lockfile.Options) (a lockAnswer) {
	var err error
	switch verb {
	case "inspect":
		a.Inspection, err = lockfile.Inspect(path, opts)
	case "try":
		var lock *lockfile.Lock
		if lock, err = lockfile.TryAcquire(path, opts); err == nil {
			a.Got, a.Recovered = true, lock.Recovered()
			err = lock.Release()
		}
	case "recover":
		a.Recovered, err = lockfile.Recover(context.Background(), path, opts)
	}
	var busy *lockfile.BusyError
	if errors.As(err, &busy) {
		a.Inspection, a.Busy = busy.Inspection, true
	}
	a.Err = errText(err)
	return a
}

// skipUnlessRoot skips a test that needs privileges.
func skipUnlessRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: namespaces, mounts, other users")
	}
}

// inNamespaces starts a child in new namespaces.
func inNamespaces(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags} }
}

// startWitness starts an actor in the surroundings that args ask for.
func startWitness(t *testing.T, change func(*exec.Cmd), args ...string) *probetest.Child {
	t.Helper()
	c := probetest.StartAs(t, change, "verdict-witness", args...)
	c.Expect("ready")
	return c
}

// startHolder is startWitness with the lock of state held.
func startHolder(t *testing.T, state string, change func(*exec.Cmd),
	args ...string) *probetest.Child {
	t.Helper()
	c := startWitness(t, change, args...)
	mustHold(t, c, state)
	return c
}

func mustHold(t *testing.T, c *probetest.Child, state string) {
	t.Helper()
	if got := c.Ask("acquire " + state); !strings.HasPrefix(got, "held ") {
		t.Fatal(got)
	}
}
