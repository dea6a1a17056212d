package probe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
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
	if want, listed := startKinds[host.OS]; listed && first.Start.Known &&
		first.Start.Value.Kind() != want {
		return fmt.Errorf("this process has the start value %q, which %s does not have",
			first.Start.Value, host.OS)
	}
	if err := errors.Join(
		sameFact("start", first.Start, second.Start),
		sameFact("start", self.Start, first.Start),
		sameFact("pidfd inode", first.PIDFD, second.PIDFD),
		sameFact("pidfd inode", self.PIDFD, first.PIDFD),
		sameFact("serial number", first.Serial, second.Serial),
		sameFact("serial number", self.Serial, first.Serial),
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
	// The clock may be set back between the two readings of it.
	if twice(func() bool { return inFuture(s.Process(self.PID)) }) {
		return errors.New("this process started in the future")
	}
	if err := errors.Join(checkHost(s, host), checkStart(s, self.PID)); err != nil {
		return err
	}
	switch p := s.Process(nobody); p.Presence {
	case Running, Exited:
		return fmt.Errorf("no process can have the number %d, and it was found to be %v", nobody,
			p.Presence)
	}
	if self.PID != os.Getpid() {
		return nil // a scripted system: it knows nothing of the threads and parent of this process
	}
	if err := checkParent(s); err != nil {
		return err
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

// nobody is a number that no system gives to a process. macOS and most BSDs stop at 99999, Linux at
// 4194304, and Windows numbers are multiples of four.
const nobody = math.MaxInt32

// startKinds are the kinds of start values by system; the empty one says that it has none. What a
// system answers that calls itself another one must not be compared.
var startKinds = map[string]string{
	"linux": "ticks", "darwin": "usec", "windows": "filetime", "freebsd": "uptime",
	"netbsd": "usec", "openbsd": "", "dragonfly": "",
}

// checkHost looks at what a system says about itself: a boot has an id of its kind, and lies in the
// past.
func checkHost(s System, host Host) error {
	if id := host.Boot.ID; id.Known && !validBoot(host.OS, id.Value) {
		return fmt.Errorf("%q is no boot id of %s", id.Value, host.OS)
	}
	future := func(h Host) bool {
		return h.Boot.StartedAt.Known && h.Boot.StartedAt.Value.After(time.Now().Add(clockSlack))
	}
	if future(host) && future(s.Host()) {
		return errors.New("this machine was started in the future")
	}
	return nil
}

// validBoot reports whether a kernel of that system can have said that boot id.
func validBoot(system, id string) bool {
	upper, err := parseUUID(id)
	switch system {
	case "linux", "freebsd":
		return err == nil && id == strings.ToLower(id)
	case "darwin":
		return err == nil && id == upper
	case "windows":
		_, ok := fileTimeOf(Start("filetime:" + strings.TrimPrefix(id, "boottime:")))
		return ok && strings.HasPrefix(id, "boottime:")
	case "openbsd", "netbsd", "dragonfly":
		return false
	}
	return id != ""
}

// checkStart compares a start value of microseconds with the wall time of the start, which comes
// from the same two numbers.
func checkStart(s System, self int) error {
	var p Process
	differs := func() bool {
		host := s.Host()
		p = s.Process(self)
		wall, ok := p.Start.Value.wall(host.Boot.StartedAt)
		return ok && p.StartedAt.Known && wall.Sub(p.StartedAt.Value).Abs() > clockSlack
	}
	if twice(differs) { // the clock may be set between the readings
		return fmt.Errorf("this process has the start %v, and is said to have started at %v",
			p.Start.Value, p.StartedAt)
	}
	return nil
}

// twice reports whether a fault is seen at both of two looks.
func twice(fault func() bool) bool {
	if !fault() {
		return false
	}
	return fault()
}

// wall returns the wall time of a start value of the kinds that say one, with the clock as it was
// set at the start (usec) or is set now (uptime, counted from the boot).
func (s Start) wall(boot Fact[time.Time]) (time.Time, bool) {
	if !s.Valid() {
		return time.Time{}, false
	}
	_, value, _ := strings.Cut(string(s), ":")
	switch s.Kind() {
	case "usec":
		first, rest, _ := strings.Cut(value, ".")
		sec, err := strconv.ParseInt(first, 10, 64)
		usec, err2 := strconv.ParseInt(rest, 10, 64)
		return time.Unix(sec, usec*1000), err == nil && err2 == nil
	case "uptime":
		usec, err := strconv.ParseInt(value, 10, 64)
		if err != nil || usec > math.MaxInt64/1000 || !boot.Known {
			return time.Time{}, false
		}
		return boot.Value.Add(time.Duration(usec) * time.Microsecond), true
	}
	return time.Time{}, false
}

// checkParent asks about the parent of this process, which is there whatever the system says. It
// finds systems that hide processes from this one: there, nobody may be called missing.
func checkParent(s System) error {
	for range 3 {
		parent := livingParent()
		if parent <= 0 {
			return nil // outside of this pid namespace, or not known
		}
		p := s.Process(parent)
		if livingParent() != parent {
			continue // it ended meanwhile
		}
		switch p.Presence {
		case Missing, Exited, ThreadOnly:
			return fmt.Errorf("the parent of this process (%d) was found to be %v", parent,
				p.Presence)
		}
		return nil
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
