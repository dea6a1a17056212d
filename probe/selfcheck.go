package probe

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// clockSlack is how far the start of this process may lie in the future before SelfCheck objects.
// The wall clock is read twice, and a start value is a whole number of 10 ms ticks.
const clockSlack = 2 * time.Second

// SelfCheck asks s about the one process whose state is beyond doubt, the calling one, and returns
// an error that names the first answer that contradicts another or cannot be true. A fact that is
// unknown contradicts nothing. Whoever acts on the absence of a process calls it first: it finds
// sandboxes and emulations that answer wrongly.
func SelfCheck(s System) error {
	self := s.Self()
	first, second := s.Process(self.PID), s.Process(self.PID)
	for _, p := range []Process{self, first, second} {
		if p.PID != self.PID {
			return fmt.Errorf("asked about process %d, answered about %d", self.PID, p.PID)
		}
		if p.Presence != Running && p.Presence != PresenceUnknown {
			return fmt.Errorf("this process (%d) was found to be %v", self.PID, p.Presence)
		}
		if p.Start.Known && !p.Start.Value.Valid() {
			return fmt.Errorf("this process has an invalid start value %q", p.Start.Value)
		}
	}
	if err := errors.Join(
		sameFact("start", first.Start, second.Start),
		sameFact("start", self.Start, first.Start),
		sameFact("pidfd inode", first.PIDFD, second.PIDFD),
		sameFact("pidfd inode", self.PIDFD, first.PIDFD),
	); err != nil {
		return err
	}
	// Twice, because the clock may be set back between the two readings of it.
	early, again := inFuture(s.Process(self.PID)), inFuture(s.Process(self.PID))
	if early && again {
		return errors.New("this process started in the future")
	}
	if self.PID != os.Getpid() {
		return nil // a scripted system: it knows nothing of the threads of this process
	}
	var err error
	onOtherThread(func(tid int) {
		if p := s.Process(tid); p.Presence == Running {
			err = fmt.Errorf(
				"%d is only a thread of this process and was found to be a process",
				tid,
			)
		}
	})
	return err
}

func sameFact[T comparable](what string, a, b Fact[T]) error {
	if a.Known && b.Known && a.Value != b.Value {
		return fmt.Errorf("this process has the %s %v and also %v", what, a.Value, b.Value)
	}
	return nil
}

func inFuture(p Process) bool {
	return p.StartedAt.Known && p.StartedAt.Value.After(time.Now().Add(clockSlack))
}
