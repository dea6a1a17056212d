package explore

// Scenarios returns the situations that are explored, by name.
func Scenarios() []*Scenario {
	return []*Scenario{
		{Name: "free", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "cold", Crashes: 1, Setup: func(c *Cast) { // no fence, no state
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "dead", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			dead(c)
			c.Add(contender("A"))
			c.Add(contender("B"))
		}},
		{Name: "held", Crashes: 1, Setup: func(c *Cast) {
			warm(c)
			owner(c, "owner", func(p *Proc) {
				p.Update()
				p.Release()
			})
			c.Add(contender("A"))
		}},
	}
}

// warm lets a first tenure be over, so that the fence is there.
func warm(c *Cast) {
	p := c.Process(&Script{Name: "first"})
	p.Tenancy(false)
	c.Kill(p)
}

// dead leaves the lock of an owner that was killed.
func dead(c *Cast) {
	p := c.Process(&Script{Name: "dead"})
	p.Acquire(false)
	p.Update()
	c.Kill(p)
}

// owner has the lock when the schedule begins.
func owner(c *Cast, name string, run func(p *Proc)) *Proc {
	p := c.Process(&Script{Name: name, Run: run, Mortal: true})
	p.Acquire(false)
	c.Enter(p)
	return p
}

// contender waits for the lock, and is started again when it is killed.
func contender(name string) *Script {
	run := func(p *Proc) { p.Tenancy(true) }
	return &Script{Name: name, Run: run, Mortal: true, Restart: run}
}
