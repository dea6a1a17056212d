package lockfile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/lockfile/internal/seam"
	"github.com/probate-dev/probate/probe"
)

// process is what this package remembers for the whole process, and what it needs of it. There is
// one, but for tests that run many processes in one program.
type process struct {
	seam.Process
	keepsSpare bool     // it has descriptors that can be used up
	watches    bool     // it can be woken by what happens to files and processes
	settling   *errands // of locks that have not lasted long; nil: there is seam.Process.Later

	owner atomic.Pointer[string] // of its records, made at the first use
	host  atomic.Pointer[hostHash]

	template atomic.Pointer[template] // of its last record
	// the lock that was given back last: the next acquire of it does not look first. nil when
	// somebody else turned out to have it
	given atomic.Pointer[givenBack]

	// which fences were compared with their logs, by the identity of the file
	fencesRead struct {
		sync.Mutex
		seen map[[2]uint64]bool
	}
	// for each directory that was looked through, known by its identity, the names of the locks
	// that had temporaries then
	leftovers struct {
		sync.Mutex
		of map[[2]uint64]map[string]string
	}
	// the probes of the real system were found sane
	selfCheck struct {
		sync.Mutex
		sane bool
	}
	spare spare
}

var thisProcess = &process{keepsSpare: true, watches: true, settling: &settling, Process: realSeam}

var realSeam = seam.Process{
	PID: probe.PID,
	UID: euid,
	Now: time.Now,
	Random: func(b []byte) {
		_, _ = rand.Read(b) // never fails, says its documentation
	},
	Go:    func(fn func()) { go fn() },
	Pause: pauseFor,
	Later: func(d time.Duration, fn func()) (stop func()) {
		if d == settling.after {
			return settling.add(fn)
		}
		timer := time.AfterFunc(d, fn)
		return func() { timer.Stop() }
	},
}

// settling are the locks that have not lasted long.
var settling = errands{after: settleAfter}

func init() {
	seam.Enter = func(opts any, files vfs.FS, p seam.Process) {
		o := opts.(*Options)
		o.files, o.in = files, &process{Process: p}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	_, err := pauseOr(ctx, d, nil)
	return err
}

func (o *Options) process() *process {
	if o.in == nil {
		return thisProcess
	}
	return o.in
}

// ownerID returns the owner field of records: random, one per process.
func (in *process) ownerID() string {
	if owner := in.owner.Load(); owner != nil {
		return *owner
	}
	owner := in.randomHex(8)
	in.owner.CompareAndSwap(nil, &owner)
	return *in.owner.Load()
}

// isOwner reports whether owner is this process, without asking for random numbers: who only looks
// must not need what they need.
func (in *process) isOwner(owner string) bool {
	made := in.owner.Load()
	return made != nil && *made == owner
}

// hostHash remembers what the hash in records was made of.
type hostHash struct {
	name, machine, boot string
	namespace           uint64
	system              string
	initial             bool
	id                  string
}

// hostID is recordHostID. All that it depends on is compared, so that a new host name counts.
func (in *process) hostID(host *probe.Host) string {
	now := hostHash{
		name: known(host.Machine.Host), machine: host.Machine.Legacy, boot: known(host.Boot.ID),
		namespace: known(host.Namespaces.PID), system: host.OS,
		initial: known(host.Namespaces.PIDInitial),
	}
	if was := in.host.Load(); was != nil {
		if now.id = was.id; now == *was {
			return was.id
		}
	}
	made := now
	made.id = recordHostID(host)
	in.host.Store(&made)
	return made.id
}

func (in *process) randomHex(n int) string {
	b := make([]byte, n, 3*n)
	in.Random(b)
	return string(hex.AppendEncode(b, b)[n:])
}

// privileged reports whether this process may give files away.
func (in *process) privileged() bool { return in.UID() == 0 }

// pauseOr is pauseFor, and returns early when c has a value.
func pauseOr(ctx context.Context, d time.Duration, c <-chan struct{}) (woken bool,
	err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ended.Cause(ctx)
	case <-c:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}

// pause waits for a growing, jittered time, or until the context ends.
type pause struct {
	in         *process
	next, most time.Duration
}

func (w *pause) wait(ctx context.Context) error {
	w.next = min(max(w.next, time.Millisecond), w.most)
	d := w.next/2 + jitter(w.next/2)
	w.next += w.next / 2
	return w.in.Pause(ctx, d)
}
