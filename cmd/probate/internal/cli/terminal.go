//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminalSends reports whether sig is one that a terminal sends to its whole foreground process
// group, and the command is in that group: it has the signal already.
func terminalSends(sig os.Signal, command *os.Process) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return false
	}
	group, err := unix.Getpgid(command.Pid)
	return err == nil && foreground == group
}

// pause stops the child and returns when it is stopped.
func (c *child) pause() error {
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(c.pid(), &ws, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return os.NewSyscallError("wait4", err)
		case ws.Stopped():
			return nil
		default:
			return fmt.Errorf("the child ended (%v) instead of being stopped", ws)
		}
	}
}

func (c *child) resume() error { return c.cmd.Process.Signal(syscall.SIGCONT) }
