//go:build unix

package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pollStep is between two looks at a condition.
const pollStep = 2 * time.Millisecond

// sendSignal sends a signal by its name to the process of a hold that wrote file, or to another.
// Who is told to stop has stopped when it returns.
func sendSignal(ts *testscript.TestScript, name, _ string, pid int) {
	number := strconv.Itoa(pid)
	ts.Check(ts.Exec("kill", "-"+name, number))
	if name != "STOP" {
		return
	}
	until(ts, "process "+number+" stops", func() bool {
		state, err := exec.Command("ps", "-o", "stat=", "-p", number).Output()
		ts.Check(err)
		return strings.HasPrefix(string(state), "T")
	})
}

// signalsTo returns the signals that the hold of file gets.
func signalsTo(string) <-chan os.Signal {
	got := make(chan os.Signal, 1)
	signal.Notify(got, relayed...)
	return got
}
