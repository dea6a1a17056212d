package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// TestCtrlBreakReachesTheCommandOnce: the console sends it to the command and to probate, which
// waits for the command, passes its exit code on, and leaves no lock.
func TestCtrlBreakReachesTheCommandOnce(t *testing.T) {
	if probetest.OnWine() {
		t.Skip("Wine sends the events of a console to no group of processes")
	}
	// A service has no console to send anything.
	if ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("AllocConsole").Call(); ok == 0 &&
		!errors.Is(err, windows.ERROR_ACCESS_DENIED) { // it has one
		t.Fatal(err)
	}
	for _, verb := range []string{"run", "write"} {
		t.Run(verb, func(t *testing.T) { ctrlBreakReachesTheCommandOnce(t, verb) })
	}
}

func ctrlBreakReachesTheCommandOnce(t *testing.T, verb string) {
	dir := t.TempDir()
	cmd := exec.Command("probate", verb, "state", "--", "hold", "held")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	held := filepath.Join(dir, "held")
	if err := awaitFile(held); err != nil {
		t.Fatal(err)
	}
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT,
		uint32(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 40+int(syscall.SIGINT) {
		t.Errorf("ended with %v, want the exit code of the command", err)
	}
	got, err := os.ReadFile(held + ".got")
	if err != nil || strings.TrimSpace(string(got)) != "interrupt" {
		t.Errorf("the command got %q, %v", got, err)
	}
	in, err := lockfile.Inspect(filepath.Join(dir, "state"), lockfile.Options{})
	if err != nil || in.Verdict != identity.Free {
		t.Errorf("afterwards: %v, %v", in.Finding, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "state")); err == nil {
		t.Error("the state was made")
	}
}
