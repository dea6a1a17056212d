//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// relayed are the signals that end a process, and that a command may want to act upon.
var relayed = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2}

// asksToEnd reports whether a relayed signal is one to end by. The others mean what the command
// says they mean.
func asksToEnd(sig os.Signal) bool { return sig != syscall.SIGUSR1 && sig != syscall.SIGUSR2 }

var taken = []os.Signal{syscall.SIGPIPE}

// marker is a signal that nothing depends on, with a higher number than those that terminals and
// service managers send to all of a pipeline.
var marker os.Signal = syscall.SIGWINCH

// raise sends a signal to this process.
func raise(sig os.Signal) error { return syscall.Kill(os.Getpid(), sig.(syscall.Signal)) }

func signalNumber(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}

// inherit makes the command inherit a duplicate of the lock's descriptor, at a high number: scripts
// use the low ones, and those that we inherited ourselves are passed on where they are. The
// returned function drops our duplicate; the lock itself keeps its own descriptor.
func inherit(_ *exec.Cmd, lock uintptr) (giveBack func(), err error) {
	var fd int
	for _, least := range []int{99, 20, 3} { // a low limit of open files leaves no high numbers
		fd, err = unix.FcntlInt(lock, unix.F_DUPFD, least)
		if !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl(F_DUPFD)", err)
	}
	return func() { unix.Close(fd) }, nil
}

func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

func codeOfState(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignal + int(ws.Signal())
	}
	return s.ExitCode()
}

func isFormatError(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// onPath reports whether a file of that name stands on PATH, executable or not.
func onPath(name string) bool {
	if strings.ContainsRune(name, '/') {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// newFileMode is what a shell's redirection gives a new file.
func newFileMode() fs.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return 0o666 &^ fs.FileMode(mask)
}
