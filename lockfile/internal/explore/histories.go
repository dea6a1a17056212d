package explore

import (
	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

// Histories returns what power cuts are tried on.
func Histories() []*History {
	first := func(_ *Proc, o *lockfile.Options) { o.Durability = lockfile.FlushFirst }
	fresh := func(_ *Proc, o *lockfile.Options) { o.FreshToken = true }
	takeovers := func(c *Cast) {
		tenures(c)
		p := c.Process(&Script{Name: "dies"})
		p.Acquire(false)
		p.Update()
		c.End(p)
		q := c.Process(&Script{Name: "takes-over"})
		q.Tenancy(false)
		c.End(q)
		r := c.Process(&Script{Name: "dies-too"})
		r.Acquire(false)
		c.End(r)
		c.Process(&Script{Name: "recovers"}).Recover()
	}
	breaks := func(c *Cast) {
		p := c.Process(&Script{Name: "owner"})
		p.Acquire(false)
		p.Update()
		c.Process(&Script{Name: "person"}).Break()
		p.Release()
		c.Process(&Script{Name: "later"}).Tenancy(false)
	}
	return []*History{
		{Name: "tenures", Run: tenures},
		{Name: "tenures-flush-first", Run: tenures, Options: first},
		{Name: "takeovers", Run: takeovers},
		{Name: "takeovers-flush-first", Run: takeovers, Options: first},
		{Name: "takeovers-no-exchange", Run: takeovers, Disk: simfs.Options{NoExchange: true}},
		{Name: "takeovers-no-unnamed", Run: takeovers, Disk: simfs.Options{NoUnnamed: true}},
		{Name: "fresh-tokens", Run: takeovers, Options: fresh},
		{Name: "breaks", Run: breaks},
		{Name: "hidden", Run: takeovers, Hidden: true, Disk: simfs.Options{NoAlone: true}},
	}
}

// tenures are two, the first of which makes the fence.
func tenures(c *Cast) {
	for _, name := range []string{"first", "second"} {
		p := c.Process(&Script{Name: name})
		p.Tenancy(false)
		c.End(p)
	}
}
