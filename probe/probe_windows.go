package probe

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

var real System = newWindowsSystem()

// windowsSystem is the running Windows. It remembers what cannot change in the life of a process;
// what could not be read is asked for again.
type windowsSystem struct {
	ntCalls

	mu      sync.Mutex // guards what follows
	start   Fact[Start]
	boot    Fact[string]
	machine Machine // ID and Legacy
}

func newWindowsSystem() *windowsSystem { return &windowsSystem{ntCalls: realNTCalls()} }

var errNotHere = fmt.Errorf("not known on windows: %w", errors.ErrUnsupported)

// Self implements System.
func (s *windowsSystem) Self() Process {
	pid := os.Getpid()
	p := unknownProcess(pid, errNotHere)
	p.Presence = Running
	p.note("GetCurrentProcessId()", "this process")
	p.State = Known("running", "GetCurrentProcessId()")

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start.Known {
		p.setStart(s.start)
	} else {
		s.readStart(&p, ownHandle)
		s.start = p.Start
	}
	p.Name = imageName(ownHandle)
	return p
}

// Nested implements System: process numbers are the same in all of Windows.
func (s *windowsSystem) Nested(int) Nested { return Nested{} }
