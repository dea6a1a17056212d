package lockfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/probate-dev/probate/fence"
)

// Inherited is the lock of a process above, used by a command that works under it. It holds as long
// as the record stands, whether the process that acquired it lives or not.
type Inherited struct {
	tenure

	mu    sync.Mutex
	ended error
}

// Inherit returns the lock whose Lock.Environ this process was given, when that is the lock of
// path. It returns nil and no error when environ (os.Environ) names none, or that of another state.
// Close it when done.
func Inherit(path string, environ []string, opts Options) (*Inherited, error) {
	const op = "inherit"
	given := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "PROBATE_") {
			given[name] = value
		}
	}
	if given[EnvLease] == "" || given[EnvState] == "" {
		return nil, nil
	}
	p, err := openPlaceToChange(op, path, &opts)
	if err != nil {
		return nil, err
	}
	if !p.isPlaceOf(given[EnvState]) && !p.carries(given[EnvLease]) {
		p.close()
		return nil, nil
	}
	token, err := strconv.ParseUint(given[EnvFence], 10, 64)
	if err != nil || !isHex(given[EnvLease], 48) {
		p.close()
		return nil, &Error{Op: op, Path: path, Step: "read " + EnvFence + " and " + EnvLease,
			Err: errors.New("they are not what probate run sets")}
	}
	i := &Inherited{}
	i.tenure = tenure{p: p, token: fence.Token(token), lease: given[EnvLease], by: i}
	return i, nil
}

// carries reports whether the record at S.lock has that lease: the directory may have been renamed.
func (p *place) carries(lease string) bool {
	s, err := p.read()
	return err == nil && s.record != nil && s.record.Lease == lease
}

// isPlaceOf reports whether state, as another process resolved it, is the state of this place: by
// the identity of the fence files, for a path can be spelled in many ways.
func (p *place) isPlaceOf(state string) bool {
	if state == p.state() {
		return true
	}
	dir, err := p.opts.fileSystem().OpenDir(filepath.Dir(state))
	if err != nil {
		return false
	}
	defer dir.Close()
	theirs, err := dir.Stat(filepath.Base(state) + fenceSuffix)
	if err != nil {
		return false
	}
	ours, err := p.dir.Stat(p.fenceName())
	return err == nil && ours.SameFile(theirs)
}

// Check looks whether the lock still stands, see Lock.Check.
func (i *Inherited) Check() error {
	if err := i.mayCommit(); err != nil {
		return during("check", err)
	}
	return i.check("check")
}

// stands: the record at S.lock carries the lease that was given, and names its own file.
func (i *Inherited) stands() (bool, error) {
	s, err := i.p.read()
	if errors.Is(err, errReplaced) {
		s, err = i.p.read()
	}
	if err != nil {
		return false, err
	}
	if s.flaw.unread() {
		return false, fmt.Errorf("the record cannot be read: %w", s.flaw.detail)
	}
	if s.record == nil || s.record.Lease != i.lease || s.record.Proof == nil {
		return false, nil
	}
	file := s.record.claim().File
	return file == i.p.fileID(&s.info), nil
}

func (i *Inherited) mayCommit() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ended
}

func (i *Inherited) hasEnded() error { return i.mayCommit() }

func (i *Inherited) markLost(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended == nil {
		i.ended = err
	}
}

// String names the tenure without its secret.
func (i *Inherited) String() string { return i.describe() }

// GoString keeps the secret out of %#v.
func (i *Inherited) GoString() string { return "lockfile.Inherited " + i.describe() }

// Close gives back what Inherit opened. It does not touch the lock.
func (i *Inherited) Close() error {
	i.markLost(&Error{Op: "use", Path: i.p.state(), Err: ErrReleased})
	return i.p.shut()
}
