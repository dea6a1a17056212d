//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package cli

import (
	"errors"
	"os"
	"runtime"
)

// terminalSends: a Windows console sends its events to every process that is attached to it.
func terminalSends(os.Signal, *os.Process) bool { return runtime.GOOS == "windows" }

func (c *child) pause() error { return errors.ErrUnsupported }

func (c *child) resume() error { return errors.ErrUnsupported }
