package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// terminalSends: a console sends Ctrl-C, Ctrl-Break and its end to every process that is attached
// to it, and the command is attached to ours.
func terminalSends(os.Signal, *os.Process) bool { return true }

var (
	ntdll            = windows.NewLazySystemDLL("ntdll.dll")
	ntSuspendProcess = ntdll.NewProc("NtSuspendProcess")
	ntResumeProcess  = ntdll.NewProc("NtResumeProcess")
)

// pause suspends all threads of the child.
func (c *child) pause() error { return c.all(ntSuspendProcess) }

func (c *child) resume() error { return c.all(ntResumeProcess) }

func (c *child) all(call *windows.LazyProc) error {
	h, err := windows.OpenProcess(windows.PROCESS_SUSPEND_RESUME, false, uint32(c.pid()))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(h)
	if status, _, _ := call.Call(uintptr(h)); status != 0 {
		return fmt.Errorf("%s: %w", call.Name, windows.NTStatus(status))
	}
	return nil
}
