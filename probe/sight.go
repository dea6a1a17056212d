package probe

// Sight is a System for who judges processes, perhaps many in a row. What belongs to this process
// and its kernel is made sure of once, when the Sight is made; Process asks anew every time. It is
// for a piece of work that this process does by itself, and not to be kept: a fork, or a copy that
// was restored from a checkpoint, would not be noticed.
type Sight struct {
	host    Host
	process func(pid int) Process
}

// sighting is what a System has that can be looked at through a Sight at little cost.
type sighting interface {
	sight() Sight
}

// NewSight looks at s.
func NewSight(s System) Sight {
	if s, ok := s.(sighting); ok {
		return s.sight()
	}
	return Sight{s.Host(), s.Process}
}

// Host is System.Host as a verdict needs it: wall times, the host name, and whether /proc as a
// whole can be trusted may be missing.
func (v Sight) Host() Host { return v.host }

// Process is System.Process.
func (v Sight) Process(pid int) Process { return v.process(pid) }
