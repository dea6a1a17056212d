package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

var relayed = []os.Signal{os.Interrupt, syscall.SIGTERM}

func asksToEnd(os.Signal) bool { return true }

var taken []os.Signal

var marker os.Signal // no process sends itself one here

func raise(os.Signal) error { return errors.ErrUnsupported }

func signalNumber(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}

// inherit makes the command inherit a duplicate of the lock's handle.
func inherit(cmd *exec.Cmd, lock uintptr) (giveBack func(), err error) {
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(lock), self, &h, 0, true,
		windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles,
		syscall.Handle(h))
	return func() { windows.CloseHandle(h) }, nil
}

// terminate ends the command: there is no softer way to a process that has no window.
func terminate(p *os.Process) { p.Kill() }

func codeOfState(s *os.ProcessState) int { return s.ExitCode() }

func isFormatError(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

// onPath reports whether name is a file, by its path or on PATH, of which LookPath says that it is
// no program.
func onPath(name string) bool {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if filepath.Base(name) != name {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

func newFileMode() fs.FileMode { return 0o666 }
