package probetest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the test binary. Through this link a child can be started with the credentials of a user
// who has no access to the folder that the go command builds test binaries in.
func self() (string, error) { return "/proc/self/exe", nil }

// starter is a goroutine on a thread that never ends. The kernel's promise to kill a child with its
// parent is one about the thread that started the child.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startTied starts a command that the kernel kills when this process ends.
func startTied(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// awaitExit waits until a killed child has exited, and leaves it unreaped.
func awaitExit(c *Child) error {
	return waitID(c.PID(), unix.WEXITED|unix.WNOWAIT)
}

// Stop stops the child with SIGSTOP and waits until it has stopped.
func (c *Child) Stop() {
	c.tb.Helper()
	c.signal(syscall.SIGSTOP, unix.WSTOPPED|unix.WNOWAIT)
}

// Cont lets a stopped child go on and waits until it does.
func (c *Child) Cont() {
	c.tb.Helper()
	c.signal(syscall.SIGCONT, unix.WCONTINUED|unix.WNOWAIT)
}

func (c *Child) signal(sig syscall.Signal, event int) {
	c.tb.Helper()
	err := c.cmd.Process.Signal(sig)
	if err == nil {
		err = waitID(c.PID(), event)
	}
	if err != nil {
		c.tb.Fatalf("child %s (%d): %v: %v", c.name, c.PID(), sig, err)
	}
}

func waitID(pid, event int) error {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, event, nil); err != unix.EINTR {
			return err
		}
	}
}
