//go:build !unix && !windows

package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

var relayed = []os.Signal{os.Interrupt}

func asksToEnd(os.Signal) bool { return true }

var taken []os.Signal

var marker os.Signal // no process sends itself one here

func raise(os.Signal) error { return errors.ErrUnsupported }

func signalNumber(os.Signal) int { return 2 }

func inherit(*exec.Cmd, uintptr) (func(), error) {
	return nil, errors.ErrUnsupported
}

func terminate(p *os.Process) { p.Kill() }

func codeOfState(s *os.ProcessState) int { return s.ExitCode() }

func isFormatError(error) bool { return false }

func onPath(string) bool { return false }

func newFileMode() fs.FileMode { return 0o666 }
