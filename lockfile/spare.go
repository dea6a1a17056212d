package lockfile

import (
	"context"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/vfs"
)

// spare is one descriptor kept in reserve for the whole process: who has used up all others must
// still be able to release, which needs the gate open.
type spare struct {
	sync.Mutex
	dir     vfs.Dir
	started bool // the runtime has its descriptors
}

// keepSpare opens the reserve, at an acquire, when descriptors are still to be had. The first time
// it also makes the Go runtime take the two descriptors that its timers and random numbers need,
// and fails when they are not to be had: asked for later, the runtime would end the whole program
// instead.
func (in *process) keepSpare() error {
	if !in.keepsSpare {
		return nil
	}
	spare := &in.spare
	spare.Lock()
	defer spare.Unlock()
	if !spare.started {
		const needed = 3 // the runtime's poller and its event descriptor, and one to work with
		var held [needed]vfs.Dir
		var err error
		for i := range held {
			if err == nil {
				held[i], err = vfs.OS().OpenDir(string(filepath.Separator))
			}
		}
		for _, dir := range held {
			if dir != nil {
				_ = dir.Close()
			}
		}
		if err != nil {
			return err
		}
		time.AfterFunc(time.Hour, func() {}).Stop()
		spare.started = true
	}
	if spare.dir == nil {
		spare.open()
	}
	return nil
}

// openPlaceToChange is openPlace for everything that does more than look.
func openPlaceToChange(op, path string, opts Options) (*place, error) {
	p, err := openPlace(op, path, opts)
	if err != nil {
		return nil, err
	}
	if err := p.in.keepSpare(); err != nil {
		err = p.failed(op, "see that descriptors are left", p.lockName(), err)
		p.close()
		return nil, err
	}
	return p, nil
}

// open fails when there is no descriptor to keep: then a release may fail where it might have
// worked. Through vfs, for package os would start the runtime's poller, which ends the program when
// it gets no descriptor of its own.
func (s *spare) open() {
	if dir, err := vfs.OS().OpenDir(string(filepath.Separator)); err == nil {
		s.dir = dir
	}
}

// holdGateSpared is holdGate for a release, with the reserve given up when no descriptor is left.
// done must be called after the release.
func (p *place) holdGateSpared(op string) (gate fence.Gate, done func(), err error) {
	gate, err = p.holdGate(context.Background(), op)
	if !isErrno(err, syscall.EMFILE, syscall.ENFILE) || !p.in.keepsSpare {
		return gate, func() {}, err
	}
	spare := &p.in.spare
	spare.Lock()
	if spare.dir != nil {
		_ = spare.dir.Close()
		spare.dir = nil
	}
	gate, err = p.holdGate(context.Background(), op)
	if err != nil {
		spare.Unlock()
		return nil, nil, err
	}
	return gate, func() {
		spare.open()
		spare.Unlock()
	}, nil
}
