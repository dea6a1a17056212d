package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// draft is a record that is complete and locked, and not published: a file without a name where
// that exists, which is measured the cheapest way to publish and leaves nothing behind after a
// crash, else under a temporary name.
type draft struct {
	place   *place
	file    vfs.File
	unnamed bool         // until it is published
	temp    string       // its name until it is published, unless it has none
	kind    vfs.LockKind // of the kernel lock on it, "" for none
	info    vfs.Info
	token   fence.Token
	lease   [leaseSize]byte
	content []byte
	created int          // where the time is in it
	stand   *probe.Stand // of who made it
	at      time.Time    // when content was written
	since   time.Time    // the time in content

	tenure Lock             // what becomes of it
	room   [recordSize]byte // for content
}

// recordSize is more than most records have.
const recordSize = 720

// rereads are where records are read that are compared with what was written.
var rereads = sync.Pool{New: func() any { return new([maxWritten]byte) }}

// errNeedsName says that a file without a name cannot be given one here.
var errNeedsName = errors.New("a file without a name cannot be published")

// errUnflushed says that a record was published, and that the directory could not be flushed.
var errUnflushed = errors.New("published, but the directory could not be flushed")

// errSwept says that somebody took the temporary away before its kernel lock was taken.
var errSwept = errors.New("the temporary file was swept away")

// newDraft writes the record of a new tenure with that fence number. named says that it must have a
// temporary name. The kernel lock is taken before anything else: a record is never visible without
// it.
func (p *place) newDraft(op string, token fence.Token, named bool) (*draft, error) {
	d := &draft{place: p, kind: vfs.NativeLock(), token: token}
	err := errors.ErrUnsupported
	if !named {
		d.file, err = p.dir.CreateUnnamed(p.opts.mode())
	}
	if d.unnamed = err == nil; errors.Is(err, errors.ErrUnsupported) {
		d.temp = p.tempName()
		d.file, err = p.dir.Create(d.temp, p.opts.mode())
	}
	if err != nil {
		return nil, p.failed(op, "create the record", p.lockName()+anyName+tempSuffix, err)
	}
	fail := func(step string, err error) (*draft, error) {
		d.discard()
		return nil, p.failed(op, step, p.lockName()+anyName+tempSuffix, err)
	}
	switch err := d.lock(); {
	case errors.Is(err, errors.ErrUnsupported) && p.opts.WithoutKernelLock:
		d.kind = ""
	case errors.Is(err, errors.ErrUnsupported):
		err = fmt.Errorf("%w: %w", ErrNoKernelLock, err)
		return fail("take the kernel lock of the record", err)
	case err != nil:
		return fail("take the kernel lock of the record", err)
	}
	if d.info, err = vfs.Opened(d.file); err != nil {
		return fail("look at the record", err)
	}
	if step, err := d.write(); err != nil {
		return fail(step, err)
	}
	return d, nil
}

// write writes the whole record, of a new tenure, and says which step failed.
func (d *draft) write() (step string, err error) {
	d.at = d.place.in.Now()
	d.since = d.at
	d.lease = d.place.in.newLease(d.room[:])
	if err = d.encode(); err != nil {
		return "encode the record", err
	}
	if _, err := d.file.WriteAt(d.content, 0); err != nil {
		return "write the record", err
	}
	if d.place.flushesFirst() {
		if err := d.file.Sync(); err != nil {
			return "flush the record", err
		}
	}
	return "", nil
}

// encode makes the content.
func (d *draft) encode() (err error) {
	p := d.place
	at := probe.Standing(p.sys)
	d.stand = at
	p.makeSure(d.info.Mount, at)
	d.content, d.created, err = p.in.record(&p.opts, at, &p.fs, d.kind,
		&fresh{d.lease, d.token, d.since, p.fileID(&d.info)}, d.room[:0])
	return err
}

// renew makes the record of a draft that nobody has seen yet one of now. Only the time in it is
// written, unless the clock was set since: all times of a record are by one clock.
func (d *draft) renew() error {
	now := d.place.in.Now()
	stepped := now.Round(0).Sub(d.at.Round(0)) - now.Sub(d.at) // wall clock against monotonic
	if stepped.Abs() > time.Millisecond || !hasPlainYear(now) {
		before := len(d.content)
		if _, err := d.write(); err != nil {
			return err
		}
		if len(d.content) < before {
			return d.file.Truncate(int64(len(d.content)))
		}
		return nil
	}
	d.since = now
	created := d.content[d.created:][:len(timeLayout)]
	putTime(created, now)
	if _, err := d.file.WriteAt(created, int64(d.created)); err != nil {
		return err
	}
	if d.place.flushesFirst() {
		return d.file.Sync()
	}
	return nil
}

// flushesFirst reports whether a record is flushed before it is published.
func (p *place) flushesFirst() bool {
	return p.opts.Durability == FlushFirst || p.opts.Durability == FlushLater && !p.fs.Local
}

// lock takes the kernel lock. Where the kind is flock, somebody who tests the fresh file holds a
// shared lock for a moment.
func (d *draft) lock() error {
	for range 100 {
		err := d.file.Lock(d.kind)
		if !errors.Is(err, vfs.ErrLocked) {
			return err
		}
		runtime.Gosched()
	}
	return vfs.ErrLocked
}

// publish gives the record its name in one step. fs.ErrExist says that somebody else was first,
// errSwept that there is nothing to publish any more, errNeedsName that only a draft with a name
// can be published here, errUnflushed that it is published but not flushed.
func (d *draft) publish() error {
	dir, name := d.place.dir, d.place.lockName()
	if d.unnamed {
		err := dir.LinkUnnamed(d.file, name)
		switch {
		case errors.Is(err, fs.ErrExist):
			return err
		case err != nil:
			return fmt.Errorf("%w: %w", errNeedsName, err)
		}
		d.unnamed = false
		return d.published()
	}
	err := dir.RenameNoReplace(d.temp, name)
	if err != nil && vfs.NoLinks(err) {
		if err = dir.Link(d.temp, name); err == nil {
			// The temporary name is swept later if it cannot be removed now.
			_ = dir.Remove(d.temp)
		} else if d.linked(err) {
			err = nil
		}
	}
	if err != nil && vfs.NoLinks(err) {
		err = d.publishInPlace()
	}
	switch {
	case err == nil:
		d.temp = ""
		return d.published()
	case errors.Is(err, fs.ErrNotExist):
		return errSwept
	}
	return err
}

// published flushes the directory where the caller wants that. errUnflushed says that the record
// has its name and that the flush failed.
func (d *draft) published() error {
	if err := d.place.flushPublished(); err != nil {
		return fmt.Errorf("%w: %w", errUnflushed, err)
	}
	return nil
}

func (p *place) flushPublished() error {
	if p.opts.Durability != FlushFirst {
		return nil
	}
	if err := p.dir.Sync(); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// linked looks whether a link that reported an error was made all the same: on NFS the answer can
// get lost.
func (d *draft) linked(err error) bool {
	if !errors.Is(err, fs.ErrExist) {
		return false
	}
	info, err := d.place.dir.Stat(d.place.lockName())
	if err != nil || !info.SameFile(d.info) {
		return false
	}
	_ = d.place.dir.Remove(d.temp)
	return true
}

// publishInPlace is for filesystems that can neither rename without replacing nor link: an
// exclusive create, and then the content. Others see an empty record for a moment, and that
// somebody has it open.
func (d *draft) publishInPlace() error {
	p := d.place
	f, err := p.dir.Create(p.lockName(), p.opts.mode())
	if err != nil {
		return err
	}
	temp, old := d.temp, d.file
	d.file, d.temp = f, p.lockName()
	undo := func(err error) error {
		d.discard()
		_ = old.Close()
		_ = p.dir.Remove(temp)
		return err
	}
	if d.kind != "" {
		if err := d.lock(); err != nil {
			return undo(err)
		}
	}
	if d.info, err = f.Stat(); err != nil {
		return undo(err)
	}
	if err = d.encode(); err != nil {
		return undo(err)
	}
	if _, err = f.WriteAt(d.content, 0); err == nil && p.flushesFirst() {
		err = f.Sync()
	}
	if err != nil {
		return undo(err)
	}
	_ = old.Close()
	_ = p.dir.Remove(temp)
	return nil
}

// discard removes the temporary and gives everything back. After publish it only closes.
func (d *draft) discard() {
	if d.temp != "" {
		_ = d.place.dir.Remove(d.temp)
	}
	if d.kind != "" {
		_ = d.file.Unlock(d.kind)
	}
	_ = d.file.Close()
}

// forget is discard for a record whose name this process has just removed. Who inherited its
// descriptor keeps the kernel lock of a file that has no name, which says nothing to anybody.
func (d *draft) forget() {
	if vfs.OwnerKeeps() || d.temp != "" {
		d.discard()
		return
	}
	_ = d.file.Close()
}

// stands reports whether the file at S.lock is this very record, with the bytes that were
// written.
func (d *draft) stands() (bool, error) {
	info, err := d.place.dir.Stat(d.place.lockName())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.SameFile(d.info) || info.Size != int64(len(d.content)) {
		return false, nil
	}
	scratch := rereads.Get().(*[maxWritten]byte)
	defer rereads.Put(scratch)
	buf := scratch[:len(d.content)]
	if _, err := d.file.ReadAt(buf, 0); err != nil {
		return false, err
	}
	return bytes.Equal(buf, d.content), nil
}
