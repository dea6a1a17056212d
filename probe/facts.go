package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// errNoSerial is why there is no serial number.
var errNoSerial = fmt.Errorf("processes have no serial numbers on %s: %w", runtime.GOOS,
	errors.ErrUnsupported)

// unknownProcess is the answer about pid as long as nothing is known about it, and why.
func unknownProcess(pid int, why error) Process {
	return Process{
		PID:       pid,
		State:     Unknown[string]("", why),
		Threads:   Unknown[int]("", why),
		Start:     Unknown[Start]("", why),
		PIDFD:     Unknown[uint64]("", why),
		Serial:    Unknown[uint64]("", errNoSerial),
		Name:      Unknown[string]("", why),
		StartedAt: Unknown[time.Time]("", why),
	}
}

// hostName is a label that may change at any time.
func hostName() Fact[string] {
	name, err := os.Hostname()
	if err != nil {
		return Unknown[string]("host name", err)
	}
	return Known(name, "host name")
}

// errNoProcess is what a kernel says about a number that no process has.
var errNoProcess = errors.New("no such process")

// errNumber is said of a number that no process can have.
var errNumber = errors.New("not a valid process number")

func (p *Process) note(source, said string) {
	p.Readings = append(p.Readings, Reading{Source: source, Said: said})
}

func (p *Process) unread(source string, err error) {
	p.Readings = append(p.Readings, Reading{Source: source, Err: err.Error()})
}

// becomeThread says that the number is not the number of a process but of a thread of tgid.
func (p *Process) becomeThread(tgid int, source string) {
	why := "a thread of process " + strconv.Itoa(tgid)
	readings := p.Readings
	*p = unknownProcess(p.PID, errors.New(why))
	p.Presence = ThreadOnly
	p.Readings = readings
	p.note(source, why)
}
