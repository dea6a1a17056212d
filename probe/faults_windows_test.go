package probe_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/probe"
)

var errInjected = errors.New("injected")

// What goes wrong while a living process is looked at makes facts unknown, and never the process
// missing or exited.
func TestFaults(t *testing.T) {
	self := probe.Real().Self()
	const denied, none = windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_PARAMETER
	pid := os.Getpid()
	for what, c := range map[string]struct {
		faults   probe.Faults
		presence probe.Presence
		start    probe.Start
	}{
		"open fails":          {probe.Faults{Open: errInjected}, probe.PresenceUnknown, ""},
		"open: no memory":     {probe.Faults{Open: windows.ERROR_NOT_ENOUGH_MEMORY}, 0, ""},
		"wait fails":          {probe.Faults{Wait: errInjected}, 0, self.Start.Value},
		"wait: abandoned":     {probe.Faults{WaitIs: windows.WAIT_ABANDONED}, 0, self.Start.Value},
		"no number":           {probe.Faults{Number: errInjected}, 0, ""},
		"another number":      {probe.Faults{NumberIs: 4}, 0, ""},
		"times fail":          {probe.Faults{Times: errInjected}, probe.Running, ""},
		"no creation time":    {probe.Faults{CreatedIs: 1 << 63}, probe.Running, ""},
		"list fails":          {probe.Faults{List: errInjected}, probe.Running, self.Start.Value},
		"not on the list":     {probe.Faults{Hide: pid}, probe.Running, self.Start.Value},
		"denied":              {probe.Faults{Open: denied}, probe.Running, self.Start.Value},
		"denied, no list":     {probe.Faults{Open: denied, List: errInjected}, 0, ""},
		"denied, not listed":  {probe.Faults{Open: denied, Hide: pid}, 0, ""},
		"missing, but listed": {probe.Faults{Open: none}, 0, ""},
		"missing, no list":    {probe.Faults{Open: none, List: errInjected}, 0, ""},
		"missing, not listed": {probe.Faults{Open: none, Hide: pid}, probe.Missing, ""},
		"another on the list": {probe.Faults{CreatedIs: 5}, probe.Running, probe.FileTime(5)},
		"nothing goes wrong":  {probe.Faults{}, probe.Running, self.Start.Value},
	} {
		t.Run(what, func(t *testing.T) {
			wantProcess(t, probe.NewFaulty(&c.faults), os.Getpid(), c.presence, c.start)
		})
	}
}

// A system that says that everything is missing is found out, and so is one that knows another
// process as this one.
func TestFaultsAreFoundOut(t *testing.T) {
	for what, f := range map[string]*probe.Faults{
		"missing": {Open: windows.ERROR_INVALID_PARAMETER, Hide: os.Getpid()},
	} {
		if err := probe.SelfCheck(probe.NewFaulty(f)); err == nil {
			t.Errorf("%s: not found out", what)
		}
	}
	if err := probe.SelfCheck(probe.NewFaulty(&probe.Faults{})); err != nil {
		t.Error(err)
	}
}
