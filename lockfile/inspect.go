package lockfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Owner is what the record says about the process that holds or held the lock.
type Owner struct {
	PID           int       `json:"pid"`
	Program       string    `json:"program"`
	Host          string    `json:"host"`  // host name, a label; "" when the record has none
	Since         time.Time `json:"since"` // when the lock was acquired, by the owner's clock
	Label         string    `json:"label"`
	ExpectedUntil time.Time `json:"expectedUntil,omitzero"`
	OS            string    `json:"os,omitempty"`
	PIDNamespace  uint64    `json:"pidNamespace,omitempty"` // Linux: inode
	Boot          string    `json:"boot,omitempty"`
	Start         string    `json:"start,omitempty"`      // the kernel's own start value
	StartedAt     time.Time `json:"startedAt,omitzero"`   // of the process, by the owner's clock
	Filesystem    string    `json:"filesystem,omitempty"` // as the owner saw it
	Local         bool      `json:"local"`                // the owner saw a local filesystem
	// kind of the kernel lock that it held, "none" for none
	KernelLock string `json:"kernelLock"`
}

// Identity is what the record says of its owner that tells whether its number means something here,
// see identity.Comparable: less than the owner's own stamp. nil when the record names nobody.
func (o *Owner) Identity() *identity.Identity {
	if o == nil {
		return nil
	}
	return &identity.Identity{OS: o.OS, PID: o.PID, Boot: o.Boot, PIDNS: o.PIDNamespace,
		Start: probe.Start(o.Start), Host: o.Host}
}

// Description names the owner in one line for people, "" when the record names none. Text from the
// record is as it stands there: escape it before it reaches a terminal.
func (o *Owner) Description() string {
	if o == nil || o.PID == 0 {
		return ""
	}
	var b strings.Builder
	program, label := shell.Shortened(o.Program, maxLabelled), shell.Shortened(o.Label, maxLabel)
	fmt.Fprintf(&b, "process %d", o.PID)
	switch {
	case o.Program != "" && o.Label != "":
		fmt.Fprintf(&b, " (%s, %q)", program, label)
	case o.Program != "":
		fmt.Fprintf(&b, " (%s)", program)
	case o.Label != "":
		fmt.Fprintf(&b, " (%q)", label)
	}
	if o.PIDNamespace != 0 {
		fmt.Fprintf(&b, ", pid namespace %d", o.PIDNamespace)
	}
	if o.Host != "" {
		fmt.Fprintf(&b, ", on %s", shell.Shortened(o.Host, maxLabelled))
	}
	if !o.Since.IsZero() {
		fmt.Fprintf(&b, ", since %s", o.Since.Local().Format(time.DateTime))
	}
	return b.String()
}

// Fence is the two numbers that must agree while a lock is held.
type Fence struct {
	// Counter is in S.fence, or what it will begin with where there is no such file.
	Counter fence.Token `json:"counter"`
	Record  fence.Token `json:"record"`          // in the record, 0 when there is none
	Err     string      `json:"error,omitempty"` // why the counter could not be read
	// Unread: there is a record, and its number could not be read. Record is 0, and says nothing.
	Unread bool `json:"-"`
}

// MarshalJSON writes null for a number that could not be read: it is not 0.
func (f Fence) MarshalJSON() ([]byte, error) {
	wire := struct {
		Counter *fence.Token `json:"counter"`
		Record  *fence.Token `json:"record"`
		Err     string       `json:"error,omitempty"`
	}{&f.Counter, &f.Record, f.Err}
	if f.Err != "" {
		wire.Counter = nil
	}
	if f.Unread {
		wire.Record = nil
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fence) UnmarshalJSON(data []byte) error {
	var wire struct {
		Counter fence.Token  `json:"counter"`
		Record  *fence.Token `json:"record"`
		Err     string       `json:"error"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*f = Fence{Counter: wire.Counter, Err: wire.Err, Unread: wire.Record == nil}
	if wire.Record != nil {
		f.Record = *wire.Record
	}
	return nil
}

// Inspection is everything that can be said about a lock without touching it.
type Inspection struct {
	State string `json:"state"` // the state path, as resolved
	Lock  string `json:"lock"`  // the path of the record
	identity.Finding
	// Owner is nil when there is no record, or it names none. Of a newer format it is what the
	// record says in the words of this one.
	Owner  *Owner `json:"owner"`
	LockID string `json:"lockID"` // names this tenure, for Break; "" when free
	// record-v2, record-v2-legacy, lease-v1, newer, torn, foreign, …; "" when free
	Format     string    `json:"format"`
	Fence      Fence     `json:"fence"`
	Next       string    `json:"next"`                // the one next step
	Bytes      int64     `json:"bytes"`               // size of the file at Lock
	ModifiedAt time.Time `json:"modifiedAt,omitzero"` // of that file, for people; never evidence
	// traces worth a look: broken copies, breaches
	Notes []string `json:"notes,omitempty"`
}

// Inspect looks at the lock of a state path and changes nothing. An error says that not even
// looking was possible; a record that cannot be read or judged is a finding, not an error. The text
// in it comes from records and paths: escape it before it reaches a terminal.
func Inspect(path string, opts Options) (Inspection, error) {
	const op = "inspect"
	p, err := openPlace(op, path, &opts)
	if err != nil {
		return Inspection{State: path}, err
	}
	defer p.close()
	s, err := p.look()
	if err != nil {
		return Inspection{State: p.state(), Lock: p.path(p.lockName())},
			p.failed(op, "look at the record", p.lockName(), err)
	}
	p.nameHolders(&s)
	p.nameOpeners(&s)
	in := p.inspection(&s)
	in.Notes = append(in.Notes, p.notes()...)
	return in, nil
}

// nameHolders adds who holds the kernel lock where that is not the recorded owner itself: a command
// that inherited the descriptor and outlived its wrapper.
func (p *place) nameHolders(s *sighting) {
	if s.finding.Reason != identity.KernelLockHeld || s.record == nil || s.record.Proof == nil {
		return
	}
	if s.asked && s.process.Presence == probe.Running {
		return
	}
	owner := s.record.identity()
	if !identity.Comparable(owner, p.sys.Host()) ||
		p.sys.Process(owner.PID).Presence == probe.Running {
		return
	}
	f, err := p.dir.Open(p.lockName(), vfs.Read)
	if err != nil {
		return
	}
	defer f.Close()
	for _, o := range p.sys.Openers(f.Handle()).Found {
		if o.Locked {
			s.finding.Evidence = append(s.finding.Evidence, identity.Evidence{
				Sentence: fmt.Sprintf("process %d (%s) has the kernel lock", o.PID, o.Name),
				Source:   "scan of all descriptors"})
		}
	}
}

// inspection puts a sighting into the words of Inspection.
func (p *place) inspection(s *sighting) Inspection {
	lock := p.path(p.lockName())
	in := Inspection{
		State: lock[:len(lock)-len(lockSuffix)], Lock: lock, Finding: s.finding, Owner: ownerOf(s),
		LockID: s.lockID, Format: s.format(), Bytes: s.info.Size, ModifiedAt: s.info.ModTime.UTC(),
	}
	if in.Evidence == nil {
		in.Evidence = []identity.Evidence{}
	}
	switch now, err := p.counter.Current(); {
	case err == nil:
		in.Fence.Counter = now
	case !errors.Is(err, fs.ErrNotExist):
		in.Fence.Err = err.Error()
	}
	switch {
	case s.record != nil:
		in.Fence.Record = fence.Token(*s.record.Fence)
		if p.in.isOwner(s.record.Owner) {
			in.Notes = append(in.Notes, "this process holds the lock itself")
		}
	case s.flaw != nil && s.flaw.newer.fence != nil:
		in.Fence.Record = *s.flaw.newer.fence
	default:
		in.Fence.Unread = !s.free()
	}
	if note := in.fenceNote(); note != "" {
		in.Notes = append(in.Notes, note)
	}
	in.Next = p.next(&in, s)
	return in
}

// fenceNote says what is odd about the two numbers.
func (in *Inspection) fenceNote() string {
	switch {
	case in.Owner == nil, in.Format == formatNewer, in.Fence.Err != "",
		in.Fence.Counter == in.Fence.Record:
		return ""
	case in.Fence.Counter > in.Fence.Record:
		return "the counter is above the record: the owner was overtaken, " +
			"and its commits are refused"
	default:
		return "the counter is below the record: the fence was deleted or put back, " +
			"and is repaired by the next takeover"
	}
}

func ownerOf(s *sighting) *Owner {
	r := s.record
	if r == nil && s.flaw != nil {
		return s.flaw.newer.owner
	}
	if r == nil {
		return nil
	}
	o := &Owner{
		PID:        int(*r.PID),
		Program:    r.Program,
		Host:       r.Host,
		Since:      r.created.UTC(),
		Label:      r.Label,
		StartedAt:  time.UnixMilli(*r.ProcessStart).UTC(),
		KernelLock: "none",
	}
	if r.ExpectedUntil != "" {
		o.ExpectedUntil, _ = time.Parse(time.RFC3339, r.ExpectedUntil)
	}
	if pr := r.Proof; pr != nil {
		o.OS, o.PIDNamespace, o.Boot, o.Start = pr.OS, or0(pr.PIDNS), pr.Boot, pr.Start
		o.Filesystem, o.Local = pr.FS, pr.Local != nil && *pr.Local
		if pr.KernelLock != "" {
			o.KernelLock = pr.KernelLock
		}
	}
	return o
}

// formatNewer is the format of a record of another version than this one.
const formatNewer = "newer"

// format names the form of what stands at the lock's path.
func (s *sighting) format() string {
	switch {
	case s.free():
		return ""
	case s.record != nil && s.record.Proof != nil:
		return "record-v2"
	case s.record != nil:
		return "record-v2-legacy"
	default:
		return strings.TrimPrefix(string(s.flaw.reason), "record-")
	}
}

// traces are what comes behind the name of the state in names that are worth a note.
var traces = []string{brokenInfix, claimInfix, markerInfix}

// notes are traces beside the lock that a person should know of.
func (p *place) notes() []string {
	names, err := vfs.NamesWith(p.dir, p.base, traces)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	var notes []string
	for _, name := range names {
		switch after := name[len(p.base):]; {
		case strings.HasPrefix(after, brokenInfix):
			notes = append(notes, "a record that a person broke is kept: "+p.path(name))
		case strings.HasPrefix(after, claimInfix):
			notes = append(notes, "a record-v2 program has taken the lock aside without the gate: "+
				p.path(name)+": several may write now")
		case strings.HasPrefix(after, markerInfix) && !p.isOurMarker(name):
			notes = append(notes, "a record-v2 program recovered this lock without the gate: "+
				p.path(name)+": switch recovery off there")
		}
	}
	return notes
}
