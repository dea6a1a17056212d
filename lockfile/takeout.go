package lockfile

import (
	"errors"
	"io/fs"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
)

// takeOut is replace where the system holds the old file fast while it is looked at, and removes
// what was looked at (Windows): nobody has it open, it is the judged file with the judged bytes,
// and it goes. The name is free then until the draft gets it, the gate still held: an acquirer that
// is faster wins, with the number that this takeover has just raised the fence to. can says whether
// the system can do that at all.
func (p *place) takeOut(d *draft, s sighting) (old string, can bool, err error) {
	lock, kept := p.lockName(), p.keptName(s)
	is := func(f vfs.File) (bool, error) {
		info, err := f.Stat()
		if err != nil || !s.isFile(info) {
			return false, err
		}
		if s.content == nil {
			return true, nil
		}
		return s.saysTheSame(f)
	}
	done, err := p.dir.TakeOut(lock, kept, is)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "", false, nil
	case errors.Is(err, fs.ErrNotExist): // somebody removed the dead file
		return "", true, p.publishFor(d)
	case err != nil:
		return "", true, err
	case !done:
		return "", true, errMoved
	}
	return kept, true, p.publishFor(d)
}

// keptName is where a record stays that a person broke although it could not be read, "" for any
// other.
func (p *place) keptName(s sighting) string {
	if s.record != nil || s.finding.Reason == identity.RecordOrphaned {
		return ""
	}
	return p.base + brokenInfix + s.lockID
}
