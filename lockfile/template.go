package lockfile

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// template is an encoded record of this process of which only lease, fence, time and inode are
// still to be filled in: most records of a process differ in nothing else.
type template struct {
	of   templateOf
	text []byte
	// where in text the values begin and, where they have no fixed length, end
	lease, fence, fenceEnd, created, inode, inodeEnd int
}

// templateOf is what decides everything else in a record.
type templateOf struct {
	at       *probe.Stand // the same as long as nothing in it has changed
	fs, id   string
	local    bool
	kind     vfs.LockKind
	label    string
	expected time.Time
}

// leaseSize is the number of hex digits in a lease.
const leaseSize = 48

// fresh is what a record has that no other one has.
type fresh struct {
	lease [leaseSize]byte
	token fence.Token
	at    time.Time
	file  identity.FileID
}

// record returns the encoded record of a process at some place, in to where that has room, and
// where in it the time is.
func (in *process) record(opts *Options, at *probe.Stand, fs *probe.Filesystem, kind vfs.LockKind,
	f *fresh, to []byte) (content []byte, created int, err error) {
	of := templateOf{at, f.file.FS, f.file.ID, fs.Local, kind, opts.Label, opts.ExpectedUntil}
	t, plain := in.template.Load(), hasPlainYear(f.at)
	if t == nil || t.of != of || !plain {
		if t, err = newTemplate(opts, fs, f, of); err != nil {
			return nil, 0, err
		}
		if !plain { // no time of another length fits in there
			return t.text, t.created, nil
		}
		in.template.Store(t)
	}
	to = append(to[:0], t.text[:t.fence]...)
	to = strconv.AppendUint(to, uint64(f.token), 10)
	to = append(to, t.text[t.fenceEnd:t.inode]...)
	created = t.created + len(to) - t.inode
	to = strconv.AppendUint(to, f.file.Inode, 10)
	to = append(to, t.text[t.inodeEnd:]...)
	if err := tooLong(len(to)); err != nil {
		return nil, 0, err
	}
	copy(to[t.lease:], f.lease[:])
	putTime(to[created:], f.at)
	return to, created, nil
}

// newTemplate encodes one record, and finds in it what is to be filled in. Text of others in it has
// no bare quotes, so that no key is found in that.
func newTemplate(opts *Options, fs *probe.Filesystem, f *fresh, of templateOf) (*template, error) {
	r := newRecord(opts, of.at, fs, of.kind, f)
	text, err := r.encode()
	if err != nil {
		return nil, err
	}
	t := &template{of: of, text: text}
	value := func(key string) (begin, end int) {
		begin = bytes.Index(text, []byte(key)) + len(key)
		return begin, begin + bytes.IndexAny(text[begin:], `,}"`)
	}
	t.lease, _ = value(`"lease":"`)
	t.fence, t.fenceEnd = value(`,"fence":`)
	t.created, _ = value(`,"createdAt":"`)
	t.inode, t.inodeEnd = value(`,"inode":`)
	return t, nil
}

// newLease makes the secret of a new tenure. scratch is room for random bytes.
func (in *process) newLease(scratch []byte) (lease [leaseSize]byte) {
	scratch = scratch[:leaseSize/2]
	in.Random(scratch)
	hex.Encode(lease[:], scratch)
	return lease
}
