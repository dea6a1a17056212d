package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
)

// Monitor knows what is true, and checks the invariants of the protocol:
//
//	I1  never two processes that hold at the same time, and no update lost
//	I2  no commit after another's takeover, nor without the own record at its place under the gate
//	I3  the counter never decreases, and no number is handed out twice by takeovers
//	I4  after any crash some process can acquire without a person
//	I5  a living owner is never judged gone
//	I6  the number of files is bounded
//	I7  the largest number in the log is at least the counter
//	I8  every failure is typed and names step and path, and says the truth about what was done
type Monitor struct {
	w       *world
	broken  *Violation
	records []*published
	tenures []*Tenure
	lock    uint64 // inode at the record's name
	counter uint64 // in the fence
	foreign bool   // a record-v2 peer wrote it, or is just doing so, without the gate
	peers   uint64 // the largest number that one wrote
	largest uint64 // number that a takeover has returned
	handed  uint64 // the largest number that a tenure was given
	updates int    // of the state
	acked   int    // updates whose writers were told so
	writer  *Tenure
}

// Violation is an invariant that was broken.
type Violation struct {
	Invariant, What string
}

// published is a record that was at the lock's name.
type published struct {
	number int // in the list
	proc   *Proc
	inode  uint64
	id     string
	gone   bool // its own process removed it
	broken bool // a person broke it
	robbed bool // a record-v2 peer took it away without asking
	since  int  // changes of all when it did that
	// by is who exchanged it, a record-v2 peer's, for its own, and has not looked yet
	by *Proc
}

// Tenure is a lock that was handed out.
type Tenure struct {
	number int // in the list
	proc   *Proc
	child  *Proc // has inherited its descriptor
	lock   *lockfile.Lock
	record *published
	token  uint64
	over   bool // released, or told that it is lost
	landed int  // updates of its own
}

func (m *Monitor) fail(invariant, format string, args ...any) {
	if m.broken == nil {
		m.broken = &Violation{invariant, fmt.Sprintf(format, args...)}
	}
}

// hash is what must agree when two states are one.
func (m *Monitor) hash() uint64 {
	h := simfs.Mix(m.lock, m.counter<<1|bit(m.foreign))
	h = simfs.Mix(simfs.Mix(simfs.Mix(h, m.largest), m.peers), uint64(m.updates))
	for _, r := range m.records {
		h = simfs.Mix(h, r.inode<<3|bit(r.gone)|bit(r.broken)<<1|bit(r.robbed)<<2)
		if r.by != nil {
			h = simfs.Mix(h, r.by.id)
		}
	}
	for _, t := range m.tenures {
		h = simfs.Mix(h, t.record.inode<<2|bit(t.over)|bit(t.snatched())<<1)
		h = simfs.Mix(h, uint64(t.landed))
	}
	return h
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// alive reports whether a tenure has a process: its own, or a child with its descriptor.
func (t *Tenure) alive() bool { return !t.proc.dead || t.child != nil && !t.child.dead }

// snatched reports whether a record-v2 peer, which knows no gate, has taken the record away since
// its process has last looked at it: nothing can be done about that.
func (t *Tenure) snatched() bool { return t.record.robbed && t.record.since > t.proc.looked }

// excused reports whether something that is nobody's fault here has ended the tenure.
func (r *published) excused() bool { return r.broken || r.robbed }

func (m *Monitor) of(inode uint64) *published {
	for i := len(m.records) - 1; i >= 0; i-- {
		if m.records[i].inode == inode {
			return m.records[i]
		}
	}
	return nil
}

// after looks at a file operation that succeeded.
func (m *Monitor) after(p *Proc, op *simfs.Op) {
	if op.Kind == simfs.OpStat && op.Name == path.Base(record) {
		p.looked = m.w.changes
	}
	if !op.Changed {
		return
	}
	switch op.Kind {
	case simfs.OpWrite, simfs.OpTruncate, simfs.OpAppend:
		if op.Inode == m.w.disk.Inode(gate) { // who made it opened it without a name
			m.fence(p)
		}
		return
	case simfs.OpLock, simfs.OpUnlock, simfs.OpClose, simfs.OpOpen, simfs.OpChmod, simfs.OpChown:
		return
	}
	if op.To == path.Base(gate) {
		m.fence(p)
	}
	if op.Kind == simfs.OpRename && op.To == path.Base(state) {
		m.update(p)
	}
	if now := m.w.disk.Inode(record); now != m.lock {
		m.changedHands(p, now)
	}
}

// changedHands notes that another file, or none, stands at the record's name.
func (m *Monitor) changedHands(p *Proc, now uint64) {
	if old := m.of(m.lock); old != nil {
		switch {
		case old.proc == p:
			old.gone = true
		case p.script.Legacy:
			old.robbed, old.since = true, m.w.changes
		case p.breaking != "" && p.breaking == old.id:
			old.broken = true
		case old.proc.script.Legacy:
			old.by = p
		}
	}
	m.lock = now
	if now == 0 {
		return
	}
	if back := m.of(now); back != nil {
		back.gone, back.by = false, nil // exchanged back
		return
	}
	content, _ := m.w.disk.Read(record)
	m.records = append(m.records, &published{number: len(m.records), proc: p,
		inode: now, id: lockID(content)})
	if sc := m.w.scenario; p.script.Legacy || sc.Unlogged || sc.LegacyRecovers {
		return
	}
	if n, counter := numberOf(content), m.counter; n > counter {
		m.fail("I3", "%s puts a record with number %d in place while the counter is %d", p.name, n,
			counter)
	}
}

// numberOf returns the number in a record, or 0.
func numberOf(content []byte) uint64 {
	_, rest, _ := bytes.Cut(content, []byte(`"fence":`))
	n, _ := strconv.ParseUint(string(rest[:max(0, bytes.IndexAny(rest, ",}"))]), 10, 64)
	return n
}

func lockID(content []byte) string {
	_, rest, ok := bytes.Cut(content, []byte(`"lease":"`))
	if !ok || len(rest) < 48 {
		return ""
	}
	sum := sha256.Sum256(rest[:48])
	return hex.EncodeToString(sum[:8])
}

// fence looks at a counter that was written.
func (m *Monitor) fence(p *Proc) {
	content, _ := m.w.disk.Read(gate)
	now, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
	if m.foreign = p.script.Legacy; m.foreign {
		if err == nil {
			m.counter = now
		}
		line, _, _ := bytes.Cut(content, []byte("\n"))
		n, _ := strconv.ParseUint(string(line), 10, 64)
		m.peers = max(m.peers, n)
		for _, t := range m.tenures { // whoever has come in since the peer took the record away
			t.record.robbed = t.record.robbed || t.token < n
		}
		return
	}
	switch {
	case err != nil:
		m.fail("I3", "the counter reads %q", content)
	case now < m.counter && !m.w.scenario.LegacyRecovers:
		m.fail("I3", "the counter goes back from %d to %d", m.counter, now)
	}
	m.counter = now
	for _, r := range m.records {
		// who breaks may die before the record is replaced: the number alone ends the tenure
		r.broken = r.broken || p.breaking != "" && p.breaking == r.id
	}
	if logged := m.logged(); logged < now && !m.w.scenario.Unlogged {
		m.fail("I7", "the counter is %d, and the largest number in the log %d", now, logged)
	}
}

func (m *Monitor) logged() (largest uint64) {
	content, _ := m.w.disk.Read(logs)
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		_, rest, ok := bytes.Cut(line, []byte(`"fence":`))
		if !ok {
			continue
		}
		digits := rest[:max(0, bytes.IndexAny(rest, ",}"))]
		if n, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
			largest = max(largest, n)
		}
	}
	return largest
}

// update looks at a state that was just replaced.
func (m *Monitor) update(p *Proc) {
	content, _ := m.w.disk.Read(state)
	n := number(content)
	t := p.Tenure
	was := m.updates
	m.updates = n
	defer func() { m.writer = t }()
	if p.script.Legacy {
		if t == nil || m.lock != t.record.inode || n != was+1 {
			p.w.note(p, "commits what it should not")
			if !m.w.scenario.LegacyRecovers {
				m.fail("I1", "the record-v2 peer %s writes update %d over %d", p.name, n, was)
			}
		}
		if t != nil {
			t.landed++
		}
		return
	}
	if t == nil {
		m.fail("I2", "%s writes without a lock", p.name)
		return
	}
	t.landed++
	counter, err := m.onDisk()
	if t.record.inode != m.lock && !t.snatched() ||
		!m.foreign && (err != nil || counter != t.token) {
		m.fail("I2", "%s commits with number %d while the counter is %d, and the file at the "+
			"lock's name is %s, its own %s", p.name, t.token, counter, fileName(m.lock),
			fileName(t.record.inode))
	}
	later := false
	for _, other := range m.tenures {
		if later && !other.proc.script.Legacy {
			m.fail("I2", "%s commits after %s has acquired the lock", p.name, other.proc.name)
		}
		later = later || other == t
	}
	if n != was+1 && (m.writer == nil || !m.writer.proc.script.Legacy) {
		m.fail("I1", "%s replaces update %d of the state by update %d: one is lost", p.name, was, n)
	}
}

func (m *Monitor) onDisk() (uint64, error) {
	content, _ := m.w.disk.Read(gate)
	return strconv.ParseUint(strings.TrimSpace(string(content)), 10, 64)
}

// number reads the state: the how manieth update it is.
func number(content []byte) int {
	text, _, _ := strings.Cut(string(content), " ")
	n, _ := strconv.Atoi(text)
	return n
}

// acquired notes that a lock is handed out.
func (m *Monitor) acquired(p *Proc, e acquired) {
	t := &Tenure{proc: p, token: e.token}
	for _, r := range m.records {
		if r.id == e.id {
			t.record = r
		}
	}
	if t.record == nil {
		m.fail("I8", "%s has lock %s, whose record was never at its name", p.name, e.id)
		t.record = &published{proc: p}
	}
	t.record.robbed = t.record.robbed || t.token < m.peers
	m.holds(t)
	m.handed = max(m.handed, t.token)
	if e.over {
		m.tookOver(p, e.from)
	} else if t.token < m.largest && !t.record.excused() {
		m.fail("I3", "%s acquires with number %d, after %d was handed out", p.name, t.token,
			m.largest)
	}
}

// holds checks a new tenure against all others.
func (m *Monitor) holds(t *Tenure) {
	for _, other := range m.tenures {
		r := other.record
		if other.over || r.gone || r.excused() || !other.alive() {
			continue
		}
		// A recoverer that dies between the exchange and its look takes along whoever slipped in.
		displaced := r.by != nil && r.by.dead && m.w.scenario.LegacyRecovers
		if displaced || t.record.excused() || t.proc.script.Legacy && m.w.scenario.LegacyRecovers {
			continue
		}
		m.fail("I1", "%s acquires while %s holds", t.proc.name, other.proc.name)
	}
	t.number = len(m.tenures)
	m.tenures = append(m.tenures, t)
	t.proc.Tenure = t
	t.proc.mortal = 0 // to have been told makes a difference
}

// tookOver checks a takeover that was reported.
func (m *Monitor) tookOver(p *Proc, e tookOver) {
	p.mortal = 0
	if n := e.number; n <= m.largest {
		m.fail("I3", "%s takes over with number %d, after %d was handed out", p.name, n, m.largest)
	} else {
		m.largest = n
	}
	m.handed = max(m.handed, m.largest)
	for _, t := range m.tenures {
		if t.record.id == e.id && !t.over && t.alive() && !t.record.excused() {
			m.fail("I5", "%s takes the lock over from %s, which lives: %s", p.name, t.proc.name,
				e.why)
		}
	}
}

// left notes that a process is gone.
func (m *Monitor) left(p *Proc) {
	p.died = m.w.changes
}

// calledAlive checks that who is said to live by its kernel lock has not died before that was
// looked at: nobody but an owner may make a dead one look alive.
func (m *Monitor) calledAlive(p *Proc, id string, since int) {
	for _, r := range m.records {
		if r.id != id || r.proc.died == 0 || r.proc.died > since {
			continue
		}
		for _, t := range m.tenures {
			if c := t.child; t.record == r && c != nil && (c.died == 0 || c.died > since) {
				return // it has the descriptor, or had it then
			}
		}
		m.fail("I4", "%s finds the kernel lock of %s held, which died before %s looked", p.name,
			r.proc.name, p.name)
	}
}
