//go:build unix && !linux && !aix

package probetest

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func self() (string, error) { return os.Executable() }

// startTied starts a command. It ends with this process because its standard input does.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// awaitExit waits until a killed child has closed its descriptors, which is as far as its exit can
// be waited for without reaping it.
func awaitExit(c *Child) error {
	for range c.lines {
	}
	return nil
}

// Stop stops the child with SIGSTOP and waits until it has stopped.
func (c *Child) Stop() {
	c.tb.Helper()
	err := c.cmd.Process.Signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	for err == nil {
		_, err = syscall.Wait4(c.PID(), &status, unix.WUNTRACED, nil)
		if err == nil {
			break
		}
		if err == syscall.EINTR {
			err = nil
		}
	}
	if err != nil || !status.Stopped() {
		c.tb.Fatalf("child %s (%d) cannot be stopped: %v", c.name, c.PID(), err)
	}
}

// Cont lets a stopped child go on.
func (c *Child) Cont() {
	c.tb.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.tb.Fatalf("child %s (%d): %v", c.name, c.PID(), err)
	}
}
