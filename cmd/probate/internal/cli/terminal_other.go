//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package cli

import (
	"errors"
	"os"
)

// terminalSends: which signals a terminal sends to whom is not known here.
func terminalSends(os.Signal, *os.Process) bool { return false }

func (c *child) pause() error { return errors.ErrUnsupported }

func (c *child) resume() error { return errors.ErrUnsupported }
