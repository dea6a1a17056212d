package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// sighting is what stood at S.lock at one moment, and what follows from it.
type sighting struct {
	info    vfs.Info // zero when there is nothing
	content []byte   // nil when it was not read
	record  *record  // nil when there is none that can be used
	flaw    *flaw    // why not; nil when there is nothing there
	lockID  string   // "" when there is nothing there
	locked  identity.LockState
	lockErr error
	process probe.Process // of the record, zero where it was not looked at
	finding identity.Finding
	torn    *identity.Observation // by which a torn record was judged
	asked   bool                  // about the process that the record names
}

func (s *sighting) free() bool { return s.lockID == "" }

// fence is the number in the record, 0 when there is none that could be read. Of a newer format the
// last number of all is not believed: nothing could come after it, not even what a person breaks.
func (s *sighting) fence() fence.Token {
	switch {
	case s.record != nil:
		return fence.Token(*s.record.Fence)
	case s.flaw != nil && s.flaw.newer.fence != nil && *s.flaw.newer.fence < fence.Max:
		return *s.flaw.newer.fence
	}
	return 0
}

// maxLooks bounds how often a record is looked at that was replaced meanwhile, or whose handle went
// stale on a network filesystem.
const maxLooks = 5

// errReplaced says that the file was replaced while it was looked at.
var errReplaced = errors.New("replaced while it was looked at")

// look reads the record and judges its owner. It changes nothing. An error says that not even the
// name could be looked at.
func (p *place) look() (sighting, error) {
	for range maxLooks {
		s, err := p.read()
		if errors.Is(err, errReplaced) {
			continue
		}
		if err != nil {
			return s, err
		}
		if err := p.judge(&s); errors.Is(err, errReplaced) {
			continue
		} else if err != nil {
			return s, err
		}
		return s, nil
	}
	s := sighting{flaw: &flaw{reason: identity.RecordChanging}, lockID: "changing"}
	s.finding = p.decide(&s, &identity.Observation{Host: p.sys.Host()})
	return s, nil
}

// read looks at the name, opens what stands there without following, waiting or changing anything,
// reads it and tests the kernel lock. errReplaced says that the name stands for another file by
// now.
func (p *place) read() (sighting, error) {
	p.makeSure(0, nil)
	name := p.lockName()
	var s sighting
	info, is, err := vfs.Glance(p.dir, name)
	switch {
	case err == nil && !is:
		return s, nil
	case isErrno(err, errStale), errors.Is(err, vfs.ErrInUse): // it is being removed
		return s, errReplaced
	case err != nil:
		return s, err
	}
	s.info = info
	unusable := func(reason identity.Reason, detail error) (sighting, error) {
		s.flaw, s.lockID = &flaw{reason: reason, detail: detail}, contentID(nil, s.info)
		return s, nil
	}
	if !info.Mode.IsRegular() {
		return unusable(identity.RecordNotRegular, errors.New("it is "+describeMode(info.Mode)))
	}
	f, err := vfs.OpenSeen(p.dir, name)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, vfs.ErrNotRegular), isErrno(err, errStale),
		// somebody asks at this moment whether it is open, or takes it out
		isErrno(err, errAgain), errors.Is(err, vfs.ErrInUse):
		return s, errReplaced
	case errors.Is(err, fs.ErrPermission):
		return unusable(identity.NotPermitted, err)
	case isErrno(err, errManyFiles, errAllFiles):
		return s, err
	case err != nil:
		return unusable(identity.RecordUnreadable, err)
	}
	defer f.Close()
	if s.info, err = vfs.Opened(f); isErrno(err, errStale) {
		return s, errReplaced
	} else if err != nil {
		return unusable(identity.RecordUnreadable, err)
	}
	if s.info.Size > maxRead {
		s.flaw = &flaw{reason: identity.RecordTooLarge}
	} else if s.content, err = readAll(f, s.info.Size); isErrno(err, errStale) {
		return s, errReplaced
	} else if err != nil {
		return unusable(identity.RecordUnreadable, err)
	} else {
		s.record, s.flaw = decode(s.content)
	}
	if s.record != nil {
		s.lockID = leaseID(s.record.Lease)
	} else {
		s.lockID = contentID(s.content, s.info)
	}
	s.testLock(f)
	// An owner that released in between removed the name before it unlocked: a free lock says
	// something about an owner only while its file still stands there.
	now, err := p.dir.Stat(name)
	if err != nil || !now.SameFile(s.info) {
		return s, errReplaced
	}
	return s, nil
}

// testLock tests the kernel lock with the kind that the record names, or the native one.
func (s *sighting) testLock(f vfs.File) {
	kind := s.record.lockKind()
	held, err := f.Locked(kind)
	if !held && kind != vfs.NativeLock() {
		// A record may name another kind than its owner took (a forged or translated one).
		if native, e := f.Locked(vfs.NativeLock()); e == nil && native {
			held, err = true, nil
		}
	}
	switch {
	case err != nil:
		s.locked, s.lockErr = identity.LockUntested, err
	case held:
		s.locked = identity.LockHeld
	default:
		s.locked = identity.LockFree
	}
}

// readAll reads at most maxRead bytes and one more. size is that of the file a moment ago.
func readAll(f vfs.File, size int64) ([]byte, error) {
	buf := make([]byte, min(max(size, 64), maxRead)+1) // one more, to see the end
	n := 0
	for {
		m, err := f.ReadAt(buf[n:], int64(n))
		n += m
		switch {
		case errors.Is(err, io.EOF), err == nil && m == 0:
			return buf[:n:n], nil
		case err != nil:
			return nil, err
		case n > maxRead:
			return buf[:n:n], nil
		case n == len(buf):
			buf = append(buf, make([]byte, min(len(buf), maxRead+1-n))...)
		}
	}
}

// nobody is the finding where there is no record.
var nobody = identity.Decide(identity.Claim{Form: identity.NoRecord}, identity.Observation{},
	identity.Policy{})

// judge observes what the verdict needs, and decides.
func (p *place) judge(s *sighting) error {
	if s.free() {
		s.finding = nobody
		return nil
	}
	sight := p.sight()
	seen := identity.Observation{
		Host: sight.Host(), Filesystem: p.fs, File: p.fileID(&s.info),
		KernelLock: s.locked, LockErr: s.lockErr,
	}
	if s.info.Mode.IsRegular() {
		seen.Untrusted = p.untrusted(s.info)
	}
	if r := s.record; r != nil {
		if r.Proof == nil { // judged by wall times and the name of the host
			seen.Host = p.sys.Host()
			seen.HostID = legacyHostID(seen.Host)
		}
		id := r.identity()
		initial := seen.Host.Namespaces.PIDInitial
		if r.Proof != nil && identity.Comparable(id, seen.Host) ||
			r.Proof == nil && (seen.Host.OS != "linux" || initial.Known && initial.Value) {
			seen.Process, s.asked = sight.Process(id.PID), true
		}
	}
	s.process = seen.Process
	s.finding = p.decide(s, &seen)
	switch {
	case s.record != nil && s.record.Proof == nil && s.finding.Verdict == identity.Gone:
		// Only now the expensive question: who has that number in a pid namespace below?
		seen.Nested = p.sys.Nested(int(*s.record.PID))
		s.finding = p.decide(s, &seen)
	case s.flaw != nil && s.flaw.torn() && s.locked != identity.LockHeld && seen.Untrusted == "" &&
		p.fs.Local:
		return p.judgeTorn(s, seen)
	}
	return nil
}

// judgeTorn asks whether anybody has a torn record open: the kernel, by a lease, or where it cannot
// say a scan of all descriptors, for which the file is only pinned, so that several who ask at once
// are not in each other's way.
func (p *place) judgeTorn(s *sighting, seen identity.Observation) error {
	pin, err := p.dir.Pin(p.lockName())
	if err != nil {
		return errReplaced
	}
	defer pin.Close()
	if info, err := pin.Stat(); err != nil || !info.SameFile(s.info) {
		return errReplaced
	}
	var notAsked error
	if seen.Alone, seen.Opened, notAsked = p.alone(s); !seen.Alone && !seen.Opened {
		seen.Openers, seen.Scanned = p.sys.Openers(pin.Handle()), true
		if why := seen.Openers.Incomplete; why != nil && notAsked != nil {
			seen.Openers.Incomplete = fmt.Errorf("%w; nor can the kernel be asked: %w", why,
				notAsked)
		}
	}
	again, err := p.read()
	if err != nil || !again.info.SameFile(s.info) || !bytes.Equal(again.content, s.content) {
		return errReplaced
	}
	seen.KernelLock, seen.LockErr = again.locked, again.lockErr
	s.locked, s.lockErr = again.locked, again.lockErr
	s.torn = &seen
	s.finding = p.decide(s, &seen)
	return nil
}

// alone asks the kernel whether nobody else has the torn record open, or somebody has. Behind an
// overlay the file may be open under another inode, of which the kernel does not speak. Neither: it
// did not say, and err is why, where something failed.
func (p *place) alone(s *sighting) (alone, opened bool, err error) {
	if p.fs.Type.Value == "overlay" {
		return false, false, nil
	}
	f, err := p.dir.Open(p.lockName(), vfs.Read)
	if isErrno(err, errAgain) || errors.Is(err, vfs.ErrInUse) {
		return false, true, nil // somebody else asks at this moment
	}
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.SameFile(s.info) {
		return false, false, err
	}
	alone, err = f.Alone()
	return err == nil && alone, err == nil && !alone, err
}

// nameOpeners finds out who has a torn record open that the kernel says is open: for people, as it
// takes a scan of all descriptors.
func (p *place) nameOpeners(s *sighting) {
	if s.torn == nil || !s.torn.Opened || s.finding.Verdict != identity.Unknown {
		return
	}
	pin, err := p.dir.Pin(p.lockName())
	if err != nil {
		return
	}
	defer pin.Close()
	if info, err := pin.Stat(); err == nil && info.SameFile(s.info) {
		s.torn.Openers, s.torn.Scanned = p.sys.Openers(pin.Handle()), true
		s.finding = p.decide(s, s.torn)
	}
}

// decide consults the table, and adds what is wrong with the record itself.
func (p *place) decide(s *sighting, seen *identity.Observation) identity.Finding {
	f := identity.Decide(s.claim(), *seen, p.opts.policy())
	if s.flaw != nil && s.flaw.detail != nil {
		f.Evidence = append(f.Evidence, identity.Evidence{
			Sentence: s.flaw.detail.Error(), Source: p.path(p.lockName())})
	}
	return f
}

func (s *sighting) claim() identity.Claim {
	switch {
	case s.record != nil:
		return s.record.claim()
	case s.flaw.torn():
		return identity.Claim{Form: identity.Torn, Flaw: s.flaw.reason}
	default:
		return identity.Claim{Form: identity.Unusable, Flaw: s.flaw.reason}
	}
}

// untrusted returns why a file cannot be one that an owner left: it belongs to somebody who has no
// business here, or others than its owner may write it.
func (p *place) untrusted(info vfs.Info) string {
	if info.UID >= 0 && info.UID != 0 && info.UID != p.in.UID() && !p.ownedBy(info.UID) {
		return "it belongs to user " + strconv.Itoa(info.UID) +
			", who owns neither the directory nor the state"
	}
	extra := info.Mode.Perm() & 0o022 &^ p.opts.mode()
	if info.UID < 0 || extra == 0 {
		return ""
	}
	// Who may write the fence takes part in this lock anyway.
	if gate, err := p.dir.Stat(p.fenceName()); err != nil || extra&^gate.Mode.Perm() != 0 {
		return "others than its owner may write it (mode " + info.Mode.Perm().String() + ")"
	}
	return ""
}

func (p *place) ownedBy(uid int) bool {
	dir, err := p.dir.Self()
	if err == nil && dir.UID == uid {
		return true
	}
	state, err := p.dir.Stat(p.base)
	return err == nil && state.UID == uid
}

func describeMode(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	default:
		return "a special file"
	}
}

// transient reports whether an unknown verdict may be due to a moment: a record being written by a
// peer that does not publish it in one step, a process that could not be looked at for once.
func (s *sighting) transient() bool {
	if s.torn != nil && s.torn.Scanned && s.torn.Openers.Incomplete != nil {
		return false // it would be the same again, and takes its time
	}
	switch s.finding.Reason {
	case identity.RecordEmpty, identity.RecordNUL, identity.RecordCutShort, identity.RecordChanging,
		identity.ProcessUnreadable:
		return true
	}
	return false
}
