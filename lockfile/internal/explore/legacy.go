package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
)

// The record-v2 programs in other languages, as section 11 of DESIGN.md describes them, step by
// step: they do not know the gate, take no kernel lock, publish a record by an exclusive create and
// a write, and compare whole files as text. Each step is a file operation of the simulation.

// peer is one process of theirs. It keeps the descriptors that they keep.
type peer struct {
	p   *Proc
	dir vfs.Dir
}

// Peer runs fn as a record-v2 program.
func (p *Proc) peer() *peer {
	dir, err := p.files.OpenDir(home)
	if err != nil {
		return nil
	}
	return &peer{p, dir}
}

// legacyHostID is the host id of a record, by their rule.
func legacyHostID() string {
	sum := sha256.Sum256([]byte(host.Machine.Host.Value + "|" + host.Machine.Legacy))
	return hex.EncodeToString(sum[:16])
}

// record returns the text of a new record.
func (q *peer) record(fence uint64) []byte {
	lease, owner := make([]byte, 24), make([]byte, 8)
	q.p.random(lease)
	q.p.random(owner)
	started := probetest.Process(q.p.pid, q.p.started).StartedAt.Value
	return fmt.Appendf(nil, `{"v":2,"lease":"%x","owner":"%x","pid":%d,"processStart":%d,`+
		`"hostId":%q,"bootStart":%d,"fence":%d,"createdAt":%q}`, lease, owner, q.p.pid,
		started.UnixMilli()+7, legacyHostID(), probetest.BootTime.UnixMilli(), fence,
		q.p.now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

// text reads a whole file; false when there is none.
func (q *peer) text(name string) ([]byte, bool) {
	f, err := q.dir.Open(name, vfs.Read)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.ReadAt(b, 0)
	return b[:n], true
}

func (q *peer) readFence() uint64 {
	text, _ := q.text(path.Base(gate))
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// create writes a file that must not exist: not in one step.
func (q *peer) create(name string, content []byte) (bool, error) {
	f, err := q.dir.Create(name, 0o600)
	if err != nil {
		return false, err
	}
	if len(content) > 0 {
		if _, err := f.WriteAt(content, 0); err != nil {
			return false, err
		}
	}
	_ = f.Sync()
	return true, f.Close()
}

const lockName = "s.lock"

// acquire takes the lock; busy peers try again a few times. nil: it did not get it.
func (q *peer) acquire(recovers bool) []byte {
	for range 4 {
		mine := q.record(q.readFence())
		ok, err := q.create(lockName, mine)
		if ok {
			return q.holding(mine)
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil
		}
		if recovers {
			if got := q.recover(); got != nil {
				return q.holding(got)
			}
		}
		if q.p.pause(background, time.Millisecond) != nil {
			return nil
		}
	}
	return nil
}

// holding reads the lock back, as they do, and tells the monitor.
func (q *peer) holding(mine []byte) []byte {
	if now, _ := q.text(lockName); !bytes.Equal(now, mine) {
		return nil
	}
	q.p.tell(peerHolds{})
	q.p.w.note(q.p, "has the lock")
	return mine
}

// Peer is one transaction of a record-v2 program.
func (p *Proc) Peer(recovers bool) {
	q := p.peer()
	mine := q.acquire(recovers)
	if mine == nil {
		p.w.note(p, "does not get the lock")
		return
	}
	q.transact(mine)
}

// transact updates the state under the lock, and gives it free.
func (q *peer) transact(mine []byte) {
	base, _ := q.text("s")
	if now, _ := q.text(lockName); !bytes.Equal(now, mine) {
		q.p.w.note(q.p, "sees that it has lost the lock")
		return
	}
	temp := fmt.Sprintf("s.peer%d", q.p.pid)
	_, _ = q.create(temp, fmt.Appendf(nil, "%d by %s", number(base)+1, q.p.name))
	_ = q.dir.Rename(temp, "s")
	if now, _ := q.text(lockName); bytes.Equal(now, mine) {
		_ = q.dir.Remove(lockName)
	}
	q.p.tell(peerOver{})
}

// judge reports whether the writer of a record is gone, by their rules: same machine, same boot
// within 120 s, no such process, or one that started at another time.
func (q *peer) judge(text []byte) bool {
	var r struct {
		V            int    `json:"v"`
		Lease        string `json:"lease"`
		PID          int    `json:"pid"`
		HostID       string `json:"hostId"`
		ProcessStart int64  `json:"processStart"`
	}
	if json.Unmarshal(text, &r) != nil || r.V != 2 || r.HostID != legacyHostID() {
		return false
	}
	now := system{q.p}.Process(r.PID)
	if now.Presence == probe.Missing {
		return true
	}
	differ := now.StartedAt.Value.UnixMilli() - r.ProcessStart
	return max(differ, -differ) > 5000
}

// recover is how they take a lock over. It returns the record of the new tenure.
func (q *peer) recover() []byte {
	judged, ok := q.text(lockName)
	if !ok || !q.judge(judged) {
		return nil
	}
	aside := lockName + ".recovering." + fmt.Sprintf("%016x", q.p.pid)
	if q.dir.Rename(lockName, aside) != nil {
		return nil
	}
	caught, _ := q.text(aside)
	if !bytes.Equal(caught, judged) || !q.judge(caught) {
		_, _ = q.create(lockName, caught) // the wrong one: put a copy back
		_ = q.dir.Remove(aside)
		return nil
	}
	var r struct {
		Lease string `json:"lease"`
	}
	_ = json.Unmarshal(caught, &r)
	if ok, _ := q.create("s.recovered-"+r.Lease[:24], nil); !ok {
		_ = q.dir.Remove(aside)
		return nil
	}
	next := q.readFence() + 1
	if f, err := q.dir.Open(path.Base(gate), vfs.ReadWrite); err == nil {
		_ = f.Truncate(0)
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", next), 0)
		_ = f.Close()
	} else {
		_, _ = q.create(path.Base(gate), fmt.Appendf(nil, "%d\n", next))
	}
	q.log(next)
	_ = q.dir.Remove(aside)
	mine := q.record(next)
	if ok, _ := q.create(lockName, mine); !ok {
		return nil
	}
	return mine
}

func (q *peer) log(fence uint64) {
	line := fmt.Appendf(nil, `{"at":%q,"recoveredPid":1,"reason":"gone","fence":%d,"host":"h"}`+
		"\n", "2026-01-02T03:04:05.000Z", fence)
	name := path.Base(logs)
	f, err := q.dir.Open(name, vfs.Append)
	if err != nil { // opening it creates it: two steps here
		_, _ = q.create(name, nil)
		f, err = q.dir.Open(name, vfs.Append)
	}
	if err == nil {
		_, _ = f.Append(line)
		_ = f.Close()
	}
}
