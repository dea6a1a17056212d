//go:build unix

package cli

import (
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pollStep is between two looks at a condition.
const pollStep = 2 * time.Millisecond

// sendSignal sends a signal by its name to the process of a hold that wrote file, or to another.
func sendSignal(ts *testscript.TestScript, name, _ string, pid int) {
	ts.Check(ts.Exec("kill", "-"+name, strconv.Itoa(pid)))
}

// signalsTo returns the signals that the hold of file gets.
func signalsTo(string) <-chan os.Signal {
	got := make(chan os.Signal, 1)
	signal.Notify(got, relayed...)
	return got
}
