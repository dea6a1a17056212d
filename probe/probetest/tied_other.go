//go:build (!unix && !windows) || aix

package probetest

import (
	"os"
	"os/exec"
)

func self() (string, error) { return os.Executable() }

// startTied starts a command. It ends with this process because its standard input does.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// awaitExit waits until a killed child has closed its handles. Its process object stays as long as
// this process has a handle on it, which it gives up only in Wait.
func awaitExit(c *Child) error {
	for range c.lines {
	}
	return nil
}
