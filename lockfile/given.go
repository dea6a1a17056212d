package lockfile

import "github.com/probate-dev/probate/probe"

// givenBack is what is remembered of a lock.
type givenBack struct {
	path  string       // as an acquire was given it
	mount uint64       // see vfs.Info
	at    *probe.Stand // who remembers it
	fs    probe.Filesystem
}

// gaveBack returns what is known of the lock of a path if it is the one that was given back last:
// then it is worth a try to publish a record without having looked whether there is one.
func (in *process) gaveBack(path string) *givenBack {
	if last := in.given.Load(); last != nil && last.path == path {
		return last
	}
	return nil
}

// gives notes a lock that is given back.
func (in *process) gives(path string, d *draft) {
	last, fs := in.gaveBack(path), &d.place.fs
	if last == nil || last.mount != d.info.Mount || last.at != d.stand {
		next := &givenBack{path: path, at: d.stand}
		if fs.Type.Known && fs.ID.Known { // else it is asked for again
			next.mount, next.fs = d.info.Mount, *fs
		}
		in.given.Store(next)
	}
}

// makeSure asks which filesystem the place is on if that was only guessed, unless it is known by
// the number of its mount, of which this very process has found it out: a mount shows the same
// filesystem as long as it exists.
func (p *place) makeSure(mount uint64, at *probe.Stand) {
	if g := p.guess; g != nil {
		p.guess = nil
		if mount != g.mount || at != g.at {
			p.fs = p.sys.Filesystem(p.dir.Handle())
		}
	}
}
