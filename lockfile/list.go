package lockfile

import (
	"iter"
	"path/filepath"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// List walks the directory tree below dir, without following links, and yields every lock with its
// verdict, in the order of their names, folder by folder. Free locks are left out, and so are files
// that only happen to be called ….lock: what was not written by this toolkit or its peers and has
// no fence beside it. An error comes with the state or directory that it is about, and the walk
// goes on.
//
// Locks are judged by as many goroutines as GOMAXPROCS says, a little ahead of who takes them: it
// costs the memory of one folder's names and of some hundred findings, however many there are.
// dir may be a lock itself; any other file is an error. Nothing of it is left running when the loop
// has ended.
func List(dir string, opts Options) iter.Seq2[Inspection, error] {
	return func(yield func(Inspection, error) bool) {
		if err := opts.validate(); err != nil {
			yield(Inspection{State: dir},
				&Error{Op: "list", Path: dir, Step: "check the options", Err: err})
			return
		}
		root := dir
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			root = target // a link that was asked for is followed, those below are not
		}
		startListing(root, opts).run(yield)
	}
}

// listed is one answer of a listing.
type listed struct {
	in  Inspection
	err error
}

// judgeAll inspects locks of one folder, by the names of their states, until it is told to stop.
func (b *batch) judgeAll(opts Options, sight probe.Sight, stop <-chan struct{}) {
	const op = "list"
	fail := func(base, step string, err error) {
		state := filepath.Join(b.folder, base)
		b.found = append(b.found, listed{Inspection{State: state},
			&Error{Op: op, Path: state, Step: step, Err: err, Next: advice(err, b.folder)}})
	}
	abs, err := filepath.Abs(b.folder)
	step := "resolve the path"
	var dir vfs.Dir
	if err == nil {
		// Not resolved: where the state is a link, its lock stands beside what it names, and this
		// is another.
		step = "open the directory"
		dir, err = opts.fileSystem().OpenDir(abs)
	}
	if err != nil {
		for _, base := range b.states {
			fail(base, step, err)
		}
		return
	}
	defer dir.Close()
	disk := opts.system().Filesystem(dir.Handle())
	for _, base := range b.states {
		select {
		case <-stop:
			return
		default:
		}
		if err := checkName(op, filepath.Join(b.folder, base), base); err != nil {
			b.found = append(b.found, listed{Inspection{State: filepath.Join(b.folder, base)}, err})
			continue
		}
		p := placeIn(dir, base, &opts, disk)
		p.seen = &sight
		in, err := p.listed(op)
		if err != nil || in.Verdict != identity.Free {
			b.found = append(b.found, listed{in, err})
		}
	}
}

// listed inspects one lock, without the notes that need the whole directory read again. Free stands
// for everything that is none.
func (p *place) listed(op string) (Inspection, error) {
	s, err := p.look()
	if err != nil {
		return Inspection{State: p.state(), Lock: p.path(p.lockName())},
			p.failed(op, "look at the record", p.lockName(), err)
	}
	if s.flaw != nil && !s.ofOurs() {
		if _, err := p.dir.Stat(p.fenceName()); err != nil {
			return Inspection{Finding: identity.Finding{Verdict: identity.Free}}, nil
		}
	}
	return p.inspection(&s), nil
}

// ofOurs reports whether a flawed record has a form that this toolkit or its peers leave.
func (s *sighting) ofOurs() bool {
	switch s.flaw.reason {
	case identity.RecordForeign, identity.RecordNotRegular, identity.RecordTooLarge,
		identity.RecordEmpty, identity.RecordNUL, identity.NotPermitted, identity.RecordUnreadable:
		return s.locked == identity.LockHeld
	}
	return true
}
