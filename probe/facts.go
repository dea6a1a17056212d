package probe

import (
	"os"
	"time"
)

// unknownProcess is the answer about pid as long as nothing is known about it, and why.
func unknownProcess(pid int, why error) Process {
	return Process{
		PID:       pid,
		State:     Unknown[string]("", why),
		Threads:   Unknown[int]("", why),
		Start:     Unknown[Start]("", why),
		PIDFD:     Unknown[uint64]("", why),
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
