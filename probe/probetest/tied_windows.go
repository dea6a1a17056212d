package probetest

import (
	"os"
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

func self() (string, error) { return os.Executable() }

// job ends its processes when its last handle is closed, which is when this process ends.
var job = sync.OnceValues(func() (windows.Handle, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return h, os.NewSyscallError("SetInformationJobObject", err)
})

// startTied starts a command that the kernel kills when this process ends.
func startTied(cmd *exec.Cmd) error {
	j, err := job()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = withHandle(cmd.Process, windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE,
		func(h windows.Handle) error {
			return os.NewSyscallError("AssignProcessToJobObject",
				windows.AssignProcessToJobObject(j, h))
		})
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return err
}

// withHandle calls do with a handle of a child, whose number is not given out again before Wait.
func withHandle(p *os.Process, access uint32, do func(windows.Handle) error) error {
	h, err := windows.OpenProcess(access, false, uint32(p.Pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(h)
	return do(h)
}

// awaitExit waits until a killed child has exited. Its process object stays as long as this process
// has a handle on it, which it gives up only in Wait.
func awaitExit(c *Child) error {
	return withHandle(c.cmd.Process, windows.SYNCHRONIZE, func(h windows.Handle) error {
		_, err := windows.WaitForSingleObject(h, windows.INFINITE)
		return err
	})
}

var (
	ntdll            = windows.NewLazySystemDLL("ntdll.dll")
	ntSuspendProcess = ntdll.NewProc("NtSuspendProcess")
	ntResumeProcess  = ntdll.NewProc("NtResumeProcess")
)

// OnWine reports whether the program runs on Wine, where some things differ from Windows.
func OnWine() bool { return ntdll.NewProc("wine_get_version").Find() == nil }

// Stop suspends all threads of the child.
func (c *Child) Stop() {
	c.tb.Helper()
	c.each(ntSuspendProcess)
}

// Cont lets a stopped child go on.
func (c *Child) Cont() {
	c.tb.Helper()
	c.each(ntResumeProcess)
}

func (c *Child) each(call *windows.LazyProc) {
	c.tb.Helper()
	err := withHandle(c.cmd.Process, windows.PROCESS_SUSPEND_RESUME, func(h windows.Handle) error {
		if status, _, _ := call.Call(uintptr(h)); status != 0 {
			return os.NewSyscallError(call.Name, windows.NTStatus(status))
		}
		return nil
	})
	if err != nil {
		c.tb.Fatalf("child %s (%d): %v", c.name, c.PID(), err)
	}
}
