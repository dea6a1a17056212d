package lockfile

import (
	"fmt"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Decoded is what the codec makes of the content of a lock file.
type Decoded struct {
	Reason identity.Reason // why it cannot be used, "" for a record
	Torn   bool
	Detail error
	Claim  identity.Claim // of a record
	Lease  string

	record *record
}

// DecodeRecord decodes the content of a lock file.
func DecodeRecord(content []byte) Decoded {
	r, f := decode(content)
	if (r == nil) == (f == nil) {
		panic("exactly one of record and flaw must be there")
	}
	if f != nil {
		return Decoded{Reason: f.reason, Torn: f.torn(), Detail: f.detail}
	}
	return Decoded{Claim: r.claim(), Lease: r.Lease, record: r}
}

// Encode encodes a decoded record again.
func (d Decoded) Encode() ([]byte, error) { return d.record.encode() }

// NewRecord encodes the record that a process described by sys would write now.
func NewRecord(opts Options, sys probe.System, program string) ([]byte, error) {
	fs := sys.Filesystem(0)
	file := identity.FileID{FS: known(fs.Type), ID: known(fs.ID), Inode: 12345}
	f := fresh{token: 7, at: opts.process().Now(), file: file}
	f.lease = opts.process().newLease(make([]byte, leaseSize))
	at := probe.Standing(sys)
	r := newRecord(&opts, at, &fs, vfs.LockOFD, &f)
	if program == "" { // the same without an encoder
		content, _, err := opts.process().record(&opts, at, &fs, vfs.LockOFD, &f, nil)
		if want, e := r.encode(); (err == nil) != (e == nil) || string(content) != string(want) {
			return nil, fmt.Errorf("from the template %s (%w), by the encoder %s (%w)", content, err,
				want, e)
		}
		return content, err
	}
	r.Program = labelled(program)
	return r.encode()
}

// RecordAfter encodes a record of one moment in a process that has written one of another before,
// and the same where it has forgotten that.
func RecordAfter(sys probe.System, before, now time.Time) (content, want string) {
	at, fs := probe.Standing(sys), sys.Filesystem(0)
	opts := Options{in: &process{Process: realSeam}}
	record := func(when time.Time) string {
		f := fresh{token: 7, at: when}
		content, _, err := opts.in.record(&opts, at, &fs, vfs.LockOFD, &f, nil)
		if err != nil {
			panic(err)
		}
		return string(content)
	}
	record(before)
	content = record(now)
	opts.in.template.Store(nil)
	return content, record(now)
}

// LegacyHostID is the host id that programs in other languages write.
func LegacyHostID(host probe.Host) string { return legacyHostID(host) }

// FormatTime formats a time as records have it.
func FormatTime(t time.Time) string { return formatTime(t) }

// OnlyEvents makes holders, and waiters in front, rely on what wakes them, until the test ends.
func OnlyEvents(t interface{ Cleanup(func()) }) {
	pause, death, watch, slow := slowPause, slowDeath, watchPause, watchSlow
	t.Cleanup(func() { slowPause, slowDeath, watchPause, watchSlow = pause, death, watch, slow })
	slowPause, slowDeath, watchPause, watchSlow = time.Hour, time.Hour, time.Hour, time.Hour
}

// Settle does at once what is done for a lock that has been held for a while.
func Settle(l *Lock) { l.p.rest(l.d.file) }

// AcquiredBy makes a lock look as it does in a process that has its memory and another number: a
// fork, or a restored copy.
func AcquiredBy(l *Lock, pid int) { l.pid = pid }

// FirstReads reports of one fence after another, each a device and an inode, whether a process that
// reads them in this order has to compare it with its log.
func FirstReads(files ...[2]uint64) (first []bool) {
	in := &process{}
	for _, f := range files {
		known := in.wasRead(f[0], f[1])
		if is := in.firstRead(f[0], f[1]); is == known {
			panic("wasRead and firstRead contradict each other")
		} else {
			first = append(first, is)
		}
	}
	return first
}

// WithFiles returns options that go through another file system than the real one.
func WithFiles(opts Options, files vfs.FS) Options {
	opts.files = files
	return opts
}

// Watches reports whether a lock has looked for a loss that came before it was watched, so that
// from now on it relies on what it is told.
func Watches(l *Lock) bool {
	l.loss.mu.Lock()
	defer l.loss.mu.Unlock()
	return l.loss.on && !l.loss.looking
}

// ForgetFences makes this process one that has not used any lock yet: filesystems give the numbers
// of removed files, such as those of other tests, to new ones.
func ForgetFences() {
	thisProcess.fencesRead.Lock()
	defer thisProcess.fencesRead.Unlock()
	thisProcess.fencesRead.seen = nil
}
