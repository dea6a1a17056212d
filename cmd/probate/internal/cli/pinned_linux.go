package cli

import (
	"os/exec"
	"runtime"
	"syscall"
)

const canDieWithWrapper = true

// pinned calls do. With die, a command that do starts is killed when this process dies: the kernel
// ties that to the thread that starts it, so that thread stays until the command has ended.
func pinned(die bool, cmd *exec.Cmd, do func() error) error {
	if die {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	return do()
}
