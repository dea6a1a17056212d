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
	host := s.Host()
	if want := startKinds[host.OS]; first.Start.Known && first.Start.Value.Kind() != want &&
		want != "" {
		return fmt.Errorf("this process has the start value %q, which %s does not have",
			first.Start.Value, host.OS)
	}
	if err := errors.Join(
		sameFact("start", first.Start, second.Start),
		sameFact("start", self.Start, first.Start),
		sameFact("pidfd inode", first.PIDFD, second.PIDFD),
		sameFact("pidfd inode", self.PIDFD, first.PIDFD),
	); err != nil {
		return err
	}
	if a, b := host.Boot.ID, s.Host().Boot.ID; a.Known && b.Known && a.Value != b.Value {
		return fmt.Errorf("this system says that its boot is %s and also %s", a.Value, b.Value)
	}
	if host.OS == "windows" {
		if err := checkWindows(s, self); err != nil {
			return err
		}
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

// startKinds are the kinds of start values that systems have.
var startKinds = map[string]string{"linux": "ticks", "darwin": "usec", "windows": "filetime"}

// checkWindows finds what only Windows can get wrong: it opens the process of a number for the
// three numbers behind it too, and its start values are times of the clock.
func checkWindows(s System, self Process) error {
	for n := 1; n < 4; n++ {
		p := s.Process(self.PID + n)
		if self.PID%4 == 0 && (p.Presence == Running || p.Presence == Exited) {
			return fmt.Errorf("%d is not a multiple of 4 and was found to be %v, as this process "+
				"(%d) is", self.PID+n, p.Presence, self.PID)
		}
	}
	created, ok := fileTimeOf(self.Start.Value)
	if !self.Start.Known || !ok {
		return nil
	}
	at, err := wallTime(created)
	if err != nil {
		return fmt.Errorf("this process has the start value %s: %w", self.Start.Value, err)
	}
	if t := self.StartedAt; t.Known && t.Value.Sub(at).Abs() > clockSlack {
		return fmt.Errorf("this process started at %v, which is not %s", t.Value, self.Start.Value)
	}
	return nil
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
