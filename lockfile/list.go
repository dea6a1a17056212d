package lockfile

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/identity"
)

// List walks the directory tree below dir, without following links, and yields every lock with its
// verdict. Free locks are left out, and so are files that only happen to be called ….lock: what was
// not written by this toolkit or its peers and has no fence beside it. An error comes with the
// state or directory that it is about, and the walk goes on.
func List(dir string, opts Options) iter.Seq2[Inspection, error] {
	return func(yield func(Inspection, error) bool) {
		if err := opts.validate(); err != nil {
			yield(
				Inspection{State: dir},
				&Error{Op: "list", Path: dir, Step: "check the options", Err: err},
			)
			return
		}
		root := dir
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			root = target // a link that was asked for is followed, those below are not
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) && path != root {
					return nil // it was there a moment ago
				}
				if !yield(Inspection{State: path}, &Error{Op: "list", Path: path,
					Step: "read the directory", Err: err}) {
					return filepath.SkipAll
				}
				return nil
			}
			state, ok := strings.CutSuffix(path, lockSuffix)
			if !ok || filepath.Base(path) == lockSuffix {
				return nil
			}
			in, err := listed(state, opts)
			if err == nil && in.Verdict == identity.Free {
				return nil
			}
			if !yield(in, err) {
				return filepath.SkipAll
			}
			return nil
		})
	}
}

// listed inspects one lock, without the notes that need the whole directory read again. Free stands
// for everything that is none.
func listed(state string, opts Options) (Inspection, error) {
	const op = "list"
	dir, base := filepath.Split(state)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Inspection{
				State: state,
			}, &Error{
				Op:   op,
				Path: state,
				Step: "resolve the path",
				Err:  err,
			}
	}
	// Not resolved: where the state is a link, its lock stands beside what it names, and this is
	// another.
	p, err := openPlaceAt(op, state, dir, base, opts)
	if err != nil {
		return Inspection{State: state}, err
	}
	defer p.close()
	s, err := p.look()
	if err != nil {
		return Inspection{State: state, Lock: p.path(p.lockName())},
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
