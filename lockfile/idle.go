package lockfile

import (
	"sync"

	"github.com/probate-dev/probate/internal/vfs"
)

// idle lets the descriptors of a place go while nobody uses it: a lock that is held for long keeps
// only that of its record.
type idle struct {
	mu    sync.Mutex
	users int
	in    vfs.File // set: the place is parked while it has no users; a file in the directory
}

// enter keeps the place open until leave.
func (p *place) enter() {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.users++
}

func (p *place) leave() {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.users--
	p.parkIfIdle()
}

// rest says that the place is used rarely from now on. in is a file in the directory, open as long
// as the place is used.
func (p *place) rest(in vfs.File) {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.in = in
	p.parkIfIdle()
}

func (p *place) parkIfIdle() {
	if p.idle.in != nil && p.idle.users == 0 {
		_ = p.counter.Rest()
		vfs.Park(p.dir, p.idle.in)
	}
}
