package cli

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/windows"
)

// pollStep is between two looks at a condition: Wine answers all processes one after another.
const pollStep = 15 * time.Millisecond

// sendSignal does to a process what comes next to a signal: TERM is a word in a file that the hold
// which wrote file waits for, the others are done by the kernel.
func sendSignal(ts *testscript.TestScript, name, file string, pid int) {
	if name == "TERM" {
		ts.Check(writeWhole(file+".TERM", ""))
		return
	}
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false,
		uint32(pid))
	ts.Check(err)
	defer windows.CloseHandle(h)
	switch name {
	case "KILL":
		ts.Check(windows.TerminateProcess(h, 137))
	case "STOP":
		ts.Check(status(ntSuspendProcess.Call(uintptr(h))))
	case "CONT":
		ts.Check(status(ntResumeProcess.Call(uintptr(h))))
	default:
		ts.Fatalf("Windows has nothing like signal %s", name)
	}
}

func status(status, _ uintptr, _ error) error {
	if status != 0 {
		return fmt.Errorf("NTSTATUS %w", windows.NTStatus(status))
	}
	return nil
}

// signalsTo returns the signals that the hold of file gets.
func signalsTo(file string) <-chan os.Signal {
	got := make(chan os.Signal, 1)
	signal.Notify(got, relayed...)
	go func() {
		for awaitFile(file+".TERM") != nil {
		}
		got <- syscall.SIGTERM
	}()
	return got
}

// awaitFile waits until the file is there.
func awaitFile(name string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollStep) {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not come", name)
}
