package lockfile

import (
	"context"
	"os"
	"sync"
	"syscall"

	"github.com/probate-dev/probate/fence"
)

// spare is one descriptor kept in reserve for the whole process: who has used up all others must still
// be able to release, which needs the gate open.
var spare struct {
	sync.Mutex
	file *os.File
}

// keepSpare opens the reserve, at an acquire, when descriptors are still to be had.
func keepSpare() {
	spare.Lock()
	defer spare.Unlock()
	if spare.file == nil {
		spare.file, _ = os.Open(os.DevNull) // without it, release fails where it might have worked
	}
}

// holdGateSpared is holdGate for a release, with the reserve given up when no descriptor is left. done
// must be called after the release.
func (p *place) holdGateSpared(op string) (gate fence.Gate, done func(), err error) {
	gate, err = p.holdGate(context.Background(), op)
	if !isErrno(err, syscall.EMFILE, syscall.ENFILE) {
		return gate, func() {}, err
	}
	spare.Lock()
	if spare.file != nil {
		_ = spare.file.Close()
		spare.file = nil
	}
	gate, err = p.holdGate(context.Background(), op)
	if err != nil {
		spare.Unlock()
		return nil, nil, err
	}
	return gate, func() {
		spare.file, _ = os.Open(os.DevNull)
		spare.Unlock()
	}, nil
}
