package explore

import (
	"context"
	"time"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

var background = context.Background()

// Scenarios returns the situations that are explored.
func Scenarios() []*Scenario {
	return append(own(), legacy()...)
}

// Find returns a scenario by its name, nil when there is none.
func Find(name string) *Scenario {
	for _, sc := range append(Scenarios(), three()...) {
		if sc.Name == name {
			return sc
		}
	}
	return nil
}

// own are the scenarios in which everybody uses this package.
func own() []*Scenario {
	return []*Scenario{
		{Name: "free", Crashes: 1, Alike: true, Setup: func(c *Cast) {
			warm(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "cold", Crashes: 1, Alike: true, Setup: func(c *Cast) { // not even a fence
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "held", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(contender("A"))
		}},
		{Name: "again", Crashes: 1, Setup: func(c *Cast) { // it publishes without looking first
			warm(c)
			owner(c, func(p *Proc) {
				p.Release()
				p.Tenancy(true)
			})
			c.Add(contender("A"))
		}},
		{Name: "woken", Crashes: 1, Ready: true, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(contender("A"))
		}},
		{Name: "woken-break", Crashes: 1, Ready: true, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(contender("A"))
			c.Add(once("person", func(p *Proc) {
				p.Break()
				p.Tenancy(false)
			}))
		}},
		{Name: "dead", Crashes: 1, Alike: true, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "dead-try", Crashes: 1, Alike: true, ReusePID: true, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
			c.Add(once("B", func(p *Proc) { p.Tenancy(false) }))
		}},
		{Name: "fresh-token", Crashes: 1, Alike: true, Unlogged: true, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}, Options: func(_ *Proc, o *lockfile.Options) { o.FreshToken = true }},
		{Name: "recover-release", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).Release)
			c.Add(once("R", (*Proc).Recover))
		}},
		{Name: "recover-recover", Crashes: 1, Alike: true, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(once("R", (*Proc).Recover))
			c.Add(once("T", (*Proc).Recover))
		}},
		{Name: "recover-acquire", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(once("R", (*Proc).Recover))
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
		}},
		{Name: "between", Crashes: 1, Setup: func(c *Cast) {
			// a whole tenure and its takeover fit between two steps of A
			warm(c)
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
			c.Add(once("X", (*Proc).hold))
			c.Add(once("R", (*Proc).Recover))
		}},
		{Name: "between-breaks", Setup: func(c *Cast) {
			warm(c)
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
			c.Add(once("X", func(p *Proc) {
				if p.Acquire(false) {
					p.Break()
				}
			}))
			c.Add(once("person", func(p *Proc) {
				p.Break()
				p.hold()
			}))
		}},
		{Name: "break-commit", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(once("person", (*Proc).Break))
		}},
		{Name: "break-acquire", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(once("person", func(p *Proc) {
				p.Break()
				p.Tenancy(false)
			}))
		}},
		{Name: "stopped", Crashes: 1, Setup: func(c *Cast) { // stopped is not gone
			warm(c)
			p := c.Process(&Script{Name: "owner", Run: (*Proc).updateAndRelease, Mortal: true,
				Stopped: true})
			p.Acquire(false)
			c.Enter(p)
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
			c.Add(once("R", (*Proc).Recover))
		}},
		{Name: "watched", Setup: func(c *Cast) { // the loss of a broken lock is noticed
			warm(c)
			owner(c, func(p *Proc) {
				_ = p.Tenure.lock.Context()
				p.updateAndRelease()
			})
			c.Add(once("person", (*Proc).Break))
		}},
		{Name: "lying-clock", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(once("R", (*Proc).Recover))
		}, Clock: func(p *Proc, t time.Time) time.Time { // years apart, and back each time
			return t.Add(time.Duration(p.files.ID()%3) * 30000 * time.Hour).
				Add(-time.Duration(p.reads) * 1000 * time.Hour)
		}},
		{Name: "inherited", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			p := owner(c, (*Proc).Release)
			p.Fork(&Script{Name: "command", Run: (*Proc).UpdateInherited, Mortal: true})
			c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
		}},
		{Name: "no-exchange", Crashes: 1, Disk: simfs.Options{NoExchange: true},
			Setup: func(c *Cast) {
				warm(c)
				dead(c)
				c.Add(contender("A"))
				c.Add(once("R", (*Proc).Recover))
			}},
		{Name: "no-unnamed", Crashes: 1, Disk: simfs.Options{NoUnnamed: true},
			Setup: func(c *Cast) {
				dead(c)
				c.Add(contender("A"))
				c.Add(once("B", func(p *Proc) { p.Tenancy(false) }))
			}},
		{Name: "links-only", Crashes: 1, Disk: simfs.Options{NoUnnamed: true, NoExchange: true,
			NoRenameNoReplace: true}, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(once("R", (*Proc).Recover))
		}},
	}
}

// legacy are the scenarios with record-v2 programs.
func legacy() []*Scenario {
	seen := simfs.Options{OpensSeen: true}
	peer := func(recovers bool) *Script {
		return once("peer", func(p *Proc) { p.Peer(recovers) })
	}
	mark := func(s *Script) *Script {
		s.Legacy = true
		return s
	}
	return []*Scenario{
		{Name: "peer", Crashes: 1, Disk: seen, Setup: func(c *Cast) {
			warm(c)
			c.Add(mark(peer(false)))
			c.Add(contender("A"))
		}},
		{Name: "peer-dead", Crashes: 1, Disk: seen, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(mark(peer(false)))
			c.Add(contender("A"))
		}},
		{Name: "peer-died", Crashes: 1, Disk: seen, Setup: func(c *Cast) {
			warm(c)
			p := c.Process(mark(peer(false)))
			p.peer().acquire(false)
			c.End(p)
			c.Add(mark(peer(false)))
			c.Add(contender("A"))
		}},
		{Name: "peer-recovers", Crashes: 1, Disk: seen, LegacyRecovers: true,
			Setup: func(c *Cast) {
				warm(c)
				dead(c)
				c.Add(mark(peer(true)))
				c.Add(contender("A"))
			}},
		{Name: "peer-recovers-holds", Crashes: 1, Disk: seen, LegacyRecovers: true,
			Setup: func(c *Cast) {
				warm(c)
				dead(c)
				c.Add(mark(once("peer", func(p *Proc) {
					if p.peer().acquire(true) != nil {
						p.Sleep()
					}
				})))
				c.Add(once("A", func(p *Proc) { p.Tenancy(false) }))
			}},
		{Name: "peer-recovers-owner", Crashes: 1, Disk: seen, LegacyRecovers: true,
			Setup: func(c *Cast) {
				warm(c)
				owner(c, (*Proc).updateAndRelease)
				c.Add(mark(peer(true)))
			}},
	}
}

// three are contenders in threes: too many schedules to walk all.
func three() []*Scenario {
	return []*Scenario{
		{Name: "three-free", Crashes: 1, Alike: true, Setup: func(c *Cast) {
			warm(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
			c.Add(contender("C"))
		}},
		{Name: "three-held", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, (*Proc).updateAndRelease)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "three-dead", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
			c.Add(once("R", (*Proc).Recover))
		}},
	}
}

// warm makes the fence, as an earlier tenure left it.
func warm(c *Cast) { c.Put(gate, "00000000000000000000\n") }

// dead leaves the lock of an owner that was killed.
func dead(c *Cast) {
	p := c.Process(&Script{Name: "dead"})
	p.Acquire(false)
	p.Update()
	c.End(p)
}

// owner has the lock when the schedule begins.
func owner(c *Cast, run func(p *Proc)) *Proc {
	p := c.Process(&Script{Name: "owner", Run: run, Mortal: true})
	p.Acquire(false)
	c.Enter(p)
	return p
}

// contender waits for the lock, and is started again when it is killed.
func contender(name string) *Script {
	run := func(p *Proc) { p.Tenancy(true) }
	return &Script{Name: name, Run: run, Mortal: true, Restart: run}
}

// once does something, and is not started again.
func once(name string, run func(p *Proc)) *Script {
	return &Script{Name: name, Run: run, Mortal: true}
}

// hold takes the lock, if that is free, and keeps it.
func (p *Proc) hold() {
	if p.Acquire(false) {
		p.Sleep()
	}
}

func (p *Proc) updateAndRelease() {
	p.Update()
	p.Release()
}
