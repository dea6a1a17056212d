package lockfile

import (
	"sync"

	"github.com/probate-dev/probate/internal/vfs"
)

// idle lets the descriptors of a place go while nobody uses it: a lock that is held for long keeps
// only that of its record. Who writes often finds them open: they are let go settleAfter the last
// use.
type idle struct {
	mu    sync.Mutex
	users int
	in    vfs.File // set: the place is parked while it has no users; a file in the directory
	stop  func()   // what is to park it; nil: nothing
	over  bool     // the place is closed, or will be when the last user leaves
}

// enter keeps the place open until leave.
func (p *place) enter() {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.users++
	if p.idle.in != nil {
		p.counter.Keep()
	}
}

func (p *place) leave() {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.users--
	if p.idle.over && p.idle.users == 0 {
		_ = p.letGo()
	}
	if p.idle.in == nil || p.idle.users > 0 || p.idle.over {
		return
	}
	p.idle.end()
	p.idle.stop = p.in.Later(settleAfter, func() {
		p.idle.mu.Lock()
		defer p.idle.mu.Unlock()
		p.parkIfIdle()
	})
}

// end says that nothing is to be parked any more. The lock is held.
func (i *idle) end() {
	if i.stop != nil {
		i.stop()
		i.stop = nil
	}
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
	if p.idle.in != nil && p.idle.users == 0 && !p.idle.over {
		_ = p.counter.Rest()
		vfs.Park(p.dir, p.idle.in)
	}
}

// close gives the directory back, unless a record is still to be withdrawn from it.
func (p *place) close() {
	if !p.kept {
		_ = p.shut()
	}
}

// shut is close in any case. Who has entered keeps the directory until he leaves.
func (p *place) shut() error {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	p.idle.over = true
	p.idle.end()
	if p.idle.users > 0 {
		return nil
	}
	return p.letGo()
}

func (p *place) letGo() error {
	if p.counter != nil {
		_ = p.counter.Rest()
	}
	return p.dir.Close()
}
