package lockfile

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// markerPrefix tells our markers from those of peers, which are empty. The time when it was made
// follows.
const markerPrefix = "probate "

// markerLife is how long a marker is kept, and markersKept how many of one lock are, however often
// its owners die. Peers that look for one do so within milliseconds.
const (
	markerLife  = time.Hour
	markersKept = 64
)

// mark creates the marker that tells record-v2 peers who recovered this tenure. It returns how to
// take it back. A marker that exists is a crashed recoverer's, or a peer's that took the file away
// already, which the exchange will notice.
func (p *place) mark(s sighting) (undo func(), err error) {
	if s.record == nil {
		return func() {}, nil // no lease, no marker
	}
	name, temp := p.markerName(s.record.Lease), p.tempName()
	f, err := p.dir.Create(temp, defaultMode)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt([]byte(markerPrefix+formatTime(p.in.Now())+"\n"), 0)
	_ = f.Close()
	if err == nil {
		// Complete before it has its name: an empty marker would accuse a peer.
		err = p.moveNoReplace(temp, name)
	}
	switch {
	case err == nil:
		return func() { _ = p.dir.Remove(name) }, nil
	case errors.Is(err, fs.ErrExist):
		_ = p.dir.Remove(temp)
		return func() {}, nil
	}
	_ = p.dir.Remove(temp)
	return nil, err
}

// moveNoReplace renames without replacing, by a link where there is no such rename. Where there is
// neither it replaces.
func (p *place) moveNoReplace(from, to string) error {
	err := p.dir.RenameNoReplace(from, to)
	if err == nil || !vfs.NoLinks(err) {
		return err
	}
	err = p.dir.Link(from, to)
	switch {
	case err == nil:
		return p.dir.Remove(from)
	case vfs.NoLinks(err):
		if _, err := p.dir.Stat(to); err == nil {
			return &fs.PathError{Op: "rename", Path: p.path(to), Err: fs.ErrExist}
		}
		return p.dir.Rename(from, to)
	}
	return err
}

// sweepOnce removes what crashed processes left of this lock, when this process acquires it for the
// first time. A directory is read once for all locks in it. It never waits and never fails: what
// stays is swept another time.
func (p *place) sweepOnce() {
	info, err := p.dir.Self()
	if err != nil {
		return
	}
	key := [2]uint64{info.Device, info.Inode}
	leftovers := &p.in.leftovers
	leftovers.Lock()
	found, looked := leftovers.of[key]
	leftovers.Unlock()
	if !looked {
		found = p.findLeftovers()
	}
	leftovers.Lock()
	if leftovers.of == nil {
		leftovers.of = map[[2]uint64]map[string]string{}
	}
	if !looked {
		leftovers.of[key] = found
	}
	one, mine := leftovers.of[key][p.lockName()]
	delete(leftovers.of[key], p.lockName())
	leftovers.Unlock()
	if !mine {
		return
	}
	// Where there are only markers, one tells whether it is time to look at all of them: a process
	// that comes after a storm of takeovers need not open each.
	if p.isMarker(one) && !p.expired(one) {
		return
	}
	gate, err := p.counter.TryHold()
	if err != nil {
		return
	}
	defer gate.Release()
	p.sweep()
}

// findLeftovers returns the locks of this directory that have temporaries or markers, each with a
// temporary, or else with a marker.
func (p *place) findLeftovers() map[string]string {
	found := map[string]string{}
	names, err := p.dir.Names()
	if err != nil {
		return found
	}
	for _, name := range names {
		rest, ok := strings.CutSuffix(name, tempSuffix)
		dot := len(rest) - tempHex - 1
		if ok && dot > 0 && rest[dot] == '.' && isHex(rest[dot+1:], tempHex) {
			found[rest[:dot]] = name
			continue
		}
		at := len(name) - markerHex - len(markerInfix)
		if at > 0 && strings.HasPrefix(name[at:], markerInfix) {
			if lock := name[:at] + lockSuffix; found[lock] == "" {
				found[lock] = name
			}
		}
	}
	return found
}

// sweep removes, under the gate, temporaries whose kernel lock is free and our own markers that are
// older than markerLife or more than markersKept. A temporary whose maker has created it but not
// locked it yet is swept too: the maker sees that at publish and starts again.
func (p *place) sweep() {
	names, err := p.dir.Names()
	if err != nil {
		return
	}
	var leftovers []string
	var kept []marker
	for _, name := range names {
		if p.isTemp(name) && p.unlocked(name) {
			leftovers = append(leftovers, name)
		} else if p.isMarker(name) {
			if made, ours := p.markedAt(name); ours && p.isOld(made) {
				leftovers = append(leftovers, name)
			} else if ours {
				kept = append(kept, marker{name, made})
			}
		}
	}
	slices.SortFunc(kept, func(a, b marker) int { return b.made.Compare(a.made) })
	for _, m := range kept[min(len(kept), markersKept):] {
		leftovers = append(leftovers, m.name)
	}
	for _, name := range leftovers {
		if err := p.dir.Remove(name); err != nil {
			p.opts.log().Warn("leftover stays", "path", p.path(name), "error", err)
		}
	}
}

func (p *place) unlocked(name string) bool {
	f, err := p.dir.Open(name, vfs.Read)
	if err != nil {
		return false
	}
	defer f.Close()
	held, err := f.Locked(vfs.NativeLock())
	return err == nil && !held
}

func (p *place) isMarker(name string) bool {
	rest, ok := strings.CutPrefix(name, p.base+markerInfix)
	return ok && len(rest) == markerHex
}

func (p *place) isOld(made time.Time) bool { return p.in.Now().Sub(made) > markerLife }

// expired reports whether a marker of ours is old.
func (p *place) expired(name string) bool {
	made, ours := p.markedAt(name)
	return ours && p.isOld(made)
}

type marker struct {
	name string
	made time.Time
}

func (p *place) isOurMarker(name string) bool {
	_, ours := p.markedAt(name)
	return ours
}

// markedAt returns when a marker of ours was made.
func (p *place) markedAt(name string) (made time.Time, ours bool) {
	f, err := p.dir.Open(name, vfs.Read)
	if err != nil {
		return time.Time{}, false
	}
	defer f.Close()
	content, err := readAll(f, maxWritten)
	if err != nil {
		return time.Time{}, false
	}
	at, ours := strings.CutPrefix(
		strings.TrimSpace(string(content)),
		strings.TrimSpace(markerPrefix),
	)
	made, _ = time.Parse(time.RFC3339, strings.TrimSpace(at)) // torn: very old
	return made, ours
}
