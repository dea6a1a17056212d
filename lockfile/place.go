package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// What is appended to the name of the state for the files beside it.
const (
	lockSuffix   = ".lock"
	fenceSuffix  = ".fence"
	logSuffix    = ".recovery.log"
	oldLogSuffix = ".recovery.log.1"
	markerInfix  = ".recovered-"
	brokenInfix  = ".lock.broken-"
	// record-v2 peers rename a lock to this while they recover it
	claimInfix    = ".lock.recovering."
	tempSuffix    = ".tmp"
	anyName       = "…" // in an error: a name that does not matter, of a file that is not there
	tempHex       = 16
	markerHex     = 24
	nameMax       = 255
	longestSuffix = len(markerInfix) + markerHex
)

// place is an open directory with a state in it, and the names of the files beside that state.
type place struct {
	opts    Options
	in      *process
	sys     probe.System
	dir     vfs.Dir
	asked   string // the path that it was opened by
	base    string // name of the state
	lock    string // name of the record
	fence   string // name of the counter
	fs      probe.Filesystem
	guess   *givenBack               // nil: fs was asked for; else it is what it was then
	counter *fence.Counter           // nil in a place that is only written to
	room    fence.Counter            // for counter
	reading fence.Reading            // the last one of an acquire
	at      atomic.Pointer[vfs.Info] // dir itself, once it was looked at
	seen    *probe.Sight             // to judge many locks through; nil: a new one for each
	kept    bool                     // by a goroutine that withdraws a record
	idle    idle

	prepared  *prepared // by an acquire that waits
	needsName bool      // nothing can be prepared here
}

// openPlace resolves a state path and opens its directory. Nothing is created.
func openPlace(op, path string, opts *Options) (*place, error) {
	if err := opts.validate(); err != nil {
		return nil, &Error{Op: op, Path: path, Step: "check the options", Err: err}
	}
	p, err := openTarget(op, path, opts)
	if err != nil {
		return nil, err
	}
	p.asked = path
	if op == opAcquire {
		last := p.in.gaveBack(path)
		if last != nil && last.mount != 0 && p.opts.System == nil {
			p.guess = last
			return p.on(last.fs), nil
		}
	}
	return p.withLock(), nil
}

// openTarget is openPlace for who wants the file alone: without a counter, and without a question
// about the filesystem.
func openTarget(op, path string, opts *Options) (*place, error) {
	if dir, base, ok := vfs.OpenParent(opts.fileSystem(), path); ok {
		if err := checkName(op, path, base); err != nil {
			_ = dir.Close()
			return nil, err
		}
		return newPlace(dir, base, opts), nil
	}
	dirname, base, err := opts.fileSystem().Resolve(path)
	if err != nil {
		return nil, &Error{Op: op, Path: path, Step: "resolve the path", Err: err,
			Next: placeAdvice(op, err, path)}
	}
	return openTargetAt(op, path, dirname, base, opts)
}

// openTargetAt is openTarget for a path that is resolved. path is the one to speak of.
func openTargetAt(op, path, dirname, base string, opts *Options) (*place, error) {
	if err := checkName(op, path, base); err != nil {
		return nil, err
	}
	dir, err := opts.fileSystem().OpenDir(dirname)
	if err != nil {
		return nil, &Error{Op: op, Path: path, Step: "open the directory", Err: err,
			Next: placeAdvice(op, err, dirname)}
	}
	return newPlace(dir, base, opts), nil
}

// placeAdvice is advice for a path whose directory cannot be opened: who only looks for a lock has
// mistaken the path.
func placeAdvice(op string, err error, path string) string {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && call.Syscall == "getwd" {
		return "go to another directory (cd): the current one was removed"
	}
	switch kind := KindOf(err); {
	case kind != KindNotFound, op == "acquire", op == opWrite, op == "capabilities":
		return advice(err, path)
	}
	return "check the path: there is no such directory"
}

// checkName refuses names of states that leave no room for the names beside them.
func checkName(op, path, base string) error {
	n := len(base) + longestSuffix
	if n <= nameMax {
		return nil
	}
	return &Error{Op: op, Path: path, Step: "check the name", Next: "choose a shorter name",
		Err: fmt.Errorf(
			"%w: the files beside it would have names of %d bytes, at most %d are possible",
			errNameTooLong, n, nameMax)}
}

func newPlace(dir vfs.Dir, base string, opts *Options) *place {
	names := base + lockSuffix + base + fenceSuffix
	n := len(base) + len(lockSuffix)
	p := &place{in: opts.process(), sys: opts.system(), dir: dir, base: base, lock: names[:n],
		fence: names[n:]}
	p.opts = *opts
	return p
}

// placeIn is newPlace for a lock, in a directory whose filesystem is known.
func placeIn(dir vfs.Dir, base string, opts *Options, fs probe.Filesystem) *place {
	return newPlace(dir, base, opts).on(fs)
}

// withLock makes a place one that can be locked and looked at.
func (p *place) withLock() *place { return p.on(p.sys.Filesystem(p.dir.Handle())) }

func (p *place) on(fs probe.Filesystem) *place {
	p.fs = fs
	p.room.Init(p.dir, p.fenceName(), p, p.opts.WithoutKernelLock)
	p.counter = &p.room
	return p
}

// sight is what to judge processes with.
func (p *place) sight() probe.Sight {
	if p.seen != nil {
		return *p.seen
	}
	return probe.NewSight(p.sys)
}

func (p *place) state() string      { return p.path(p.base) }
func (p *place) lockName() string   { return p.lock }
func (p *place) fenceName() string  { return p.fence }
func (p *place) logName() string    { return p.base + logSuffix }
func (p *place) oldLogName() string { return p.base + oldLogSuffix }

func (p *place) tempName() string {
	return p.lockName() + "." + p.in.randomHex(tempHex/2) + tempSuffix
}

func (p *place) path(name string) string {
	dir := p.dir.Path()
	if n := len(dir); n > 0 && os.IsPathSeparator(dir[n-1]) { // the root
		return dir + name
	}
	return dir + string(os.PathSeparator) + name
}

// isTemp recognizes the names that tempName makes.
func (p *place) isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, p.lockName()+".")
	if !ok {
		return false
	}
	digits, ok := strings.CutSuffix(rest, tempSuffix)
	return ok && isHex(digits, tempHex)
}

// isOwn recognizes the files beside the state that belong to its lock: by name, whatever the case
// where that does not matter, and there also by what they are, for a file can have a short name.
func (p *place) isOwn(name string) bool {
	if !vfs.ManySpellings() {
		return p.isOwnName(p.base, name)
	}
	if p.isOwnName(strings.ToLower(p.base), strings.ToLower(name)) {
		return true
	}
	info, err := p.dir.Stat(name)
	if err != nil {
		return false
	}
	for _, own := range []string{p.lockName(), p.fenceName(), p.logName(), p.oldLogName()} {
		if is, err := p.dir.Stat(own); err == nil && is.SameFile(info) {
			return true
		}
	}
	return false
}

func (p *place) isOwnName(base, name string) bool {
	rest, ok := strings.CutPrefix(name, base)
	return ok &&
		(rest == lockSuffix || rest == fenceSuffix || rest == logSuffix || rest == oldLogSuffix ||
			strings.HasPrefix(rest, markerInfix) || strings.HasPrefix(rest, lockSuffix+"."))
}

// markerName tells record-v2 peers that the tenure of that lease was recovered.
func (p *place) markerName(lease string) string {
	return p.base + markerInfix + strings.Map(func(r rune) rune {
		if isHex(string(r), 1) {
			return r
		}
		return '_'
	}, lease[:markerHex])
}

// failed wraps the cause of a failed step.
func (p *place) failed(op, step, name string, err error) error {
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	return &Error{Op: op, Path: p.state(), Step: step, Err: err, Next: advice(err, p.path(name))}
}

// FenceOptions implements fence.Owner. They make the fence one of the files beside the state: its
// owner and mode follow the state's, so that a lock once taken by root does not lock the owner of
// the data out.
func (p *place) FenceOptions() fence.Options {
	return fence.Options{
		Inherit:           p.inherited,
		Floor:             p.fenceFloor,
		TempName:          p.tempName,
		WithoutKernelLock: p.opts.WithoutKernelLock,
		Pause:             p.in.Pause,
		Repaired: func(was string, now fence.Token) {
			p.opts.log().
				Warn("fence repaired", "path", p.path(p.fenceName()), "was", was, "now", now)
		},
	}
}

// inherited returns mode and owner for fence and log: the state's, else 0600 and the directory's
// owner. Whoever may write the record, by Options.Mode, takes part and may write them too. Owners
// are -1, for "leave it", unless this process may give files away.
func (p *place) inherited() (mode fs.FileMode, uid, gid int) {
	mode, uid, gid = defaultMode, -1, -1
	for _, class := range []fs.FileMode{0o060, 0o006} {
		if p.opts.mode()&class&0o022 != 0 {
			mode |= class
		}
	}
	info, err := p.dir.Stat(p.base)
	if err == nil && info.Mode.IsRegular() {
		mode |= info.Mode.Perm() & 0o666
	} else if info, err = p.dir.Self(); err != nil {
		return mode, uid, gid
	}
	if p.in.privileged() && info.UID >= 0 {
		uid, gid = info.UID, info.GID
	}
	return mode, uid, gid
}

// giveTo gives a file its owner, if this process may.
func giveTo(f vfs.File, uid, gid int) error {
	if err := f.Chown(uid, gid); err != nil && !vfs.NotOurs(err) {
		return err
	}
	return nil
}

// fenceFloor is the largest number that is known to have been handed out, apart from the fence file
// itself: what a missing or damaged fence continues from.
func (p *place) fenceFloor() (fence.Token, error) {
	floor, err := p.loggedFence()
	if err != nil {
		return 0, err
	}
	if s, err := p.read(); err == nil {
		floor = max(floor, s.fence())
	}
	return floor, nil
}

// fileID names a file of this directory for a record.
func (p *place) fileID(info *vfs.Info) identity.FileID {
	return identity.FileID{FS: known(p.fs.Type), ID: known(p.fs.ID), Inode: info.Inode}
}

// holdGate takes the gate: the kernel lock of the fence, which excludes every takeover, break,
// commit and release of others. It waits no longer than Options.GateWait and the context.
func (p *place) holdGate(ctx context.Context, op string) (fence.Gate, error) {
	if ctx.Err() == nil { // most of the time it is free
		gate, err := p.counter.TryHold()
		if err == nil {
			return gate, nil
		}
		if !errors.Is(err, ErrGateBusy) {
			return nil, p.gateFailed(op, err)
		}
	}
	bounded, cancel := context.WithTimeoutCause(ctx, p.opts.gateWait(),
		ended.Whole(fmt.Errorf("it was held for %v", p.opts.gateWait())))
	defer cancel()
	gate, err := p.counter.Hold(bounded)
	if errors.Is(err, ErrGateBusy) && ctx.Err() == nil {
		err = fmt.Errorf("%w%s", err, p.whoHoldsGate()) // worth a scan of all processes, by now
	}
	if err != nil {
		return nil, p.gateFailed(op, err)
	}
	return gate, nil
}

// gate is holdGate, or without any waiting.
func (p *place) gate(ctx context.Context, op string, wait bool) (fence.Gate, error) {
	if wait {
		return p.holdGate(ctx, op)
	}
	gate, err := p.counter.TryHold()
	if err != nil {
		return nil, p.gateFailed(op, err)
	}
	return gate, nil
}

func (p *place) gateFailed(op string, err error) error {
	if errors.Is(err, vfs.ErrNoLocks) {
		err = fmt.Errorf("%w: %w", ErrNoKernelLock, err)
	}
	return p.failed(op, "take the gate", p.fenceName(), err)
}

// whoHoldsGate names the processes that have the fence file open with a lock, as far as can be
// seen.
func (p *place) whoHoldsGate() string {
	f, err := p.dir.Open(p.fenceName(), vfs.Read)
	if err != nil {
		return ""
	}
	defer f.Close()
	var who []string
	for _, o := range p.sys.Openers(f.Handle()).Found {
		if o.Locked {
			state := ""
			if s := p.sys.Process(o.PID).State; s.Known && s.Value == "stopped" {
				state = ", which is stopped"
			}
			who = append(who, fmt.Sprintf("process %d (%s)%s", o.PID, o.Name, state))
		}
	}
	if len(who) == 0 {
		return ""
	}
	return ": held by " + strings.Join(who, " and ")
}
