package cli

import (
	"fmt"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

const canDieWithWrapper = true

// pinned calls do. With die, this process joins a job object of which it has the only handle: what
// it starts is in the job from its first moment, and is killed when the handle is closed, which is
// when this process dies. Afterwards the job kills nobody any more: what the command left running
// in the background goes on, as on other systems.
func pinned(die bool, _ *exec.Cmd, do func() error) error {
	if !die {
		return do()
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return notTied("CreateJobObject", err)
	}
	defer windows.CloseHandle(job)
	if err := limit(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		return notTied("SetInformationJobObject", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		limit(job, 0)
		return notTied("AssignProcessToJobObject", err)
	}
	err = do()
	if undo := limit(job, 0); err == nil && undo != nil {
		// Closing the handle now would kill this process too, before it could say anything.
		return notTied("SetInformationJobObject", undo)
	}
	return err
}

func limit(job windows.Handle, flags uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

func notTied(call string, err error) error {
	return fmt.Errorf("tie CMD to this process (--die-with-wrapper): %w",
		os.NewSyscallError(call, err))
}
