package lockfile

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// markerPrefix tells our markers from those of peers, which are empty. The time when it was made
// follows.
const markerPrefix = "probate "

// markerLife is how long a marker is kept. Peers that look for one do so within milliseconds.
const markerLife = time.Hour

// mark creates the marker that tells record-v2 peers who recovered this tenure. It returns how to
// take it back. A marker that exists is a crashed recoverer's, or a peer's that took the file away
// already, which the exchange will notice.
func (p *place) mark(s sighting) (undo func(), err error) {
	if s.record == nil {
		return func() {}, nil // no lease, no marker
	}
	name := p.markerName(s.record.Lease)
	f, err := p.dir.Create(name, defaultMode)
	if errors.Is(err, fs.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	undo = func() { _ = p.dir.Remove(name) }
	if _, err := f.WriteAt([]byte(markerPrefix+formatTime(time.Now())+"\n"), 0); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// swept remembers which locks this process has swept, by the identity of their fence.
var swept struct {
	sync.Mutex
	done map[[2]uint64]bool
}

// sweepOnce removes what crashed processes left of this lock, at this process's first acquire of it.
// It never waits and never fails: what stays is swept another time.
func (p *place) sweepOnce() {
	info, err := p.dir.Stat(p.fenceName())
	if err != nil {
		return // no fence: nobody ever held this lock
	}
	key := [2]uint64{info.Device, info.Inode}
	swept.Lock()
	before := swept.done[key]
	if swept.done == nil {
		swept.done = map[[2]uint64]bool{}
	}
	swept.done[key] = true
	swept.Unlock()
	if before || !p.hasLeftovers() {
		return
	}
	gate, err := p.counter.TryHold()
	if err != nil {
		return
	}
	defer gate.Release()
	p.sweep()
}

func (p *place) hasLeftovers() bool {
	names, err := p.dir.Names()
	if err != nil {
		return false
	}
	for _, name := range names {
		if p.isTemp(name) {
			return true
		}
	}
	return false
}

// sweep removes temporaries whose kernel lock is free, under the gate. One whose maker has created it
// but not locked it yet is swept too: the maker sees that at publish and starts again.
func (p *place) sweep() {
	names, err := p.dir.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		if p.isTemp(name) && p.unlocked(name) {
			_ = p.dir.Remove(name)
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

// prune removes our own markers that are older than markerLife, under the gate.
func (p *place) prune() {
	names, err := p.dir.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, p.base+markerInfix)
		if !ok || len(rest) != markerHex {
			continue
		}
		if made, ours := p.markedAt(name); ours && time.Since(made) > markerLife {
			_ = p.dir.Remove(name)
		}
	}
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
	content, err := readAll(f)
	if err != nil {
		return time.Time{}, false
	}
	at, ours := strings.CutPrefix(strings.TrimSpace(string(content)), strings.TrimSpace(markerPrefix))
	made, _ = time.Parse(time.RFC3339, strings.TrimSpace(at)) // torn: very old
	return made, ours
}
