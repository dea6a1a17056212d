package lockfile

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/vfs"
)

// spare is two descriptors kept in reserve for the whole process: who has used up all others must
// still be able to release, which needs the directory and the gate open.
type spare struct {
	sync.Mutex
	dirs    [2]vfs.Dir
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
		const needed = 4 // the runtime's poller and its event descriptor, and two to work with
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
	spare.open()
	return nil
}

// openPlaceToChange is openPlace for everything that does more than look.
func openPlaceToChange(op, path string, opts *Options) (*place, error) {
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
	for i := range s.dirs {
		if s.dirs[i] != nil {
			continue
		}
		if dir, err := vfs.OS().OpenDir(string(filepath.Separator)); err == nil {
			s.dirs[i] = dir
		}
	}
}

func (s *spare) giveUp() {
	for i := range s.dirs {
		if s.dirs[i] != nil {
			_ = s.dirs[i].Close()
			s.dirs[i] = nil
		}
	}
}

// enterGate takes the gate for somebody who does not need the number, as a release: holdGate but
// for that.
func (p *place) enterGate(op string) (fence.Gate, error) {
	gate, err := p.counter.TryEnter()
	switch {
	case err == nil:
		return gate, nil
	case errors.Is(err, ErrGateBusy):
		return p.holdGate(context.Background(), op)
	}
	return nil, p.gateFailed(op, err)
}

// holdGateSpared is holdGate for a release, with the reserve given up when no descriptor is left.
// done must be called after the release.
func (p *place) holdGateSpared(op string) (gate fence.Gate, done func(), err error) {
	gate, err = p.enterGate(op)
	if !isErrno(err, errManyFiles, errAllFiles) || !p.in.keepsSpare {
		return gate, func() {}, err
	}
	spare := &p.in.spare
	spare.Lock()
	spare.giveUp()
	gate, err = p.enterGate(op)
	if err != nil {
		spare.Unlock()
		return nil, nil, err
	}
	return gate, func() {
		spare.open()
		spare.Unlock()
	}, nil
}
