package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/probe"
)

// Events of the recovery log.
const (
	EventTakeover  = "takeover"  // the lock of an owner that was provably gone is taken over
	EventBreak     = "break"     // a person took the lock away
	EventAbandoned = "abandoned" // a takeover or break of that fence number was given up
)

const (
	logLimit   = 1 << 20  // the log rolls when it has reached this size
	logReadMax = 8 << 20  // bytes that are read of a log, from its end
	logTail    = 64 << 10 // bytes that a first acquire reads of it
)

// LogEntry is one line of the recovery log. It is written before what it tells of: after a crash
// there may be an entry for a takeover that did not come about, and a torn last line.
type LogEntry struct {
	At           time.Time `json:"at"`
	Event        string    `json:"event"`        // see the Event constants
	RecoveredPID int       `json:"recoveredPid"` // who had the lock, 0 when not known
	// reason code of the verdict, or the words of a person
	Reason   string              `json:"reason"`
	Fence    fence.Token         `json:"fence"` // the number handed out
	Host     string              `json:"host"`
	LockID   string              `json:"lockID"` // the tenure that ended
	By       string              `json:"by"`     // who did it
	Verdict  identity.Verdict    `json:"verdict"`
	Evidence []identity.Evidence `json:"evidence"`
}

// wireEntry reads what this package and record-v2 peers write: only some of the fields, times as
// text or milliseconds.
type wireEntry struct {
	At           any                 `json:"at"`
	Event        string              `json:"event"`
	RecoveredPID json.Number         `json:"recoveredPid"`
	Reason       string              `json:"reason"`
	Fence        json.Number         `json:"fence"`
	Host         string              `json:"host"`
	LockID       string              `json:"lockID"`
	By           string              `json:"by"`
	Verdict      *identity.Verdict   `json:"verdict"`
	Evidence     []identity.Evidence `json:"evidence"`
}

func parseEntry(line []byte) (LogEntry, bool) {
	var w wireEntry
	if err := json.Unmarshal(line, &w); err != nil {
		return LogEntry{}, false
	}
	number, err := strconv.ParseUint(string(w.Fence), 10, 64)
	if err != nil || fence.Token(number) > fence.Max {
		return LogEntry{}, false
	}
	pid, _ := strconv.Atoi(string(w.RecoveredPID))
	e := LogEntry{Event: w.Event, RecoveredPID: pid, Reason: w.Reason, Fence: fence.Token(number),
		Host: w.Host, LockID: w.LockID, By: w.By, Evidence: w.Evidence}
	if w.Verdict != nil {
		e.Verdict = *w.Verdict
	}
	if e.Event == "" {
		e.Event = EventTakeover // peers log nothing else
	}
	switch at := w.At.(type) {
	case string:
		e.At, _ = time.Parse(time.RFC3339, at)
	case float64:
		e.At = time.UnixMilli(int64(at))
	}
	e.At = e.At.UTC()
	if y := e.At.Year(); y < 1 || y > 9999 { // no time that JSON can hold
		e.At = time.Time{}
	}
	return e, true
}

// ReadLog returns the recovery log of the state path, oldest first, and the number of lines that
// could not be read (a torn last line after a crash counts). A log that does not exist is empty. Of
// a log that is larger than this package lets one become only the end is read; the rest counts as
// one line that could not be.
func ReadLog(path string, opts Options) (entries []LogEntry, unreadable int, err error) {
	p, err := openPlace("log", path, &opts)
	if err != nil {
		return nil, 0, err
	}
	defer p.close()
	err = p.eachLogged(func(e LogEntry, ok bool) {
		if ok {
			entries = append(entries, e)
		} else {
			unreadable++
		}
	})
	if err != nil {
		return nil, 0, p.failed("log", "read the recovery log", p.logName(), err)
	}
	return entries, unreadable, nil
}

// eachLogged calls fn for every line of both logs, oldest first.
func (p *place) eachLogged(fn func(e LogEntry, ok bool)) error {
	for _, name := range []string{p.oldLogName(), p.logName()} {
		if err := p.eachLineOf(name, logReadMax, fn); err != nil {
			return err
		}
	}
	return nil
}

// eachLineOf calls fn for the lines in the last most bytes of a log, which need not exist. What
// stands before them counts as one line that could not be read.
func (p *place) eachLineOf(name string, most int64, fn func(e LogEntry, ok bool)) error {
	content, cut, err := p.endOf(name, most)
	if err != nil {
		return err
	}
	if cut {
		fn(LogEntry{}, false)
	}
	for line := range bytes.SplitSeq(content, []byte("\n")) {
		if len(bytes.TrimSpace(line)) > 0 {
			fn(parseEntry(line))
		}
	}
	return nil
}

// endOf is readTail of a log, which need not exist.
func (p *place) endOf(name string, most int64) (content []byte, cut bool, err error) {
	f, err := p.dir.Open(name, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	return readTail(f, most)
}

// readTail returns the last max bytes of a file, from a line's beginning on, and whether there is
// more before them.
func readTail(f vfs.File, max int64) (content []byte, cut bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	from := info.Size - max
	if from < 0 {
		from = 0
	}
	var all bytes.Buffer
	all.Grow(int(info.Size-from) + bytes.MinRead) // one read, and one at the end
	if _, err = all.ReadFrom(io.NewSectionReader(f, from, max)); err != nil {
		return nil, false, err
	}
	if content = all.Bytes(); from > 0 {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	return content, from > 0, nil
}

// appendLog writes an entry and flushes it, under the gate. A line that could not be written whole,
// or not be flushed, is taken back.
func (p *place) appendLog(e LogEntry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, info, err := p.openLog()
	if err != nil {
		return err
	}
	defer f.Close()
	out := append(line, '\n')
	if torn, err := tornEnd(f, info.Size); err != nil {
		return err
	} else if torn {
		out = append([]byte{'\n'}, out...)
	}
	_, err = f.Append(out)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Truncate(info.Size) // what it tells of is not done
	}
	return err
}

// openLog opens the log to append to it, rolls it when it is full, creates it when it is missing.
func (p *place) openLog() (vfs.File, vfs.Info, error) {
	f, err := p.dir.Open(p.logName(), vfs.Append)
	if err == nil {
		info, err := f.Stat()
		if err == nil && info.Size < logLimit {
			return f, info, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, vfs.Info{}, err
		}
		if err := p.dir.Rename(p.logName(), p.oldLogName()); err != nil {
			return nil, vfs.Info{}, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, vfs.Info{}, err
	}
	mode, uid, gid := p.inherited()
	f, err = p.dir.Create(p.logName(), mode)
	if err == nil {
		if uid >= 0 {
			err = giveTo(f, uid, gid)
		}
		_ = f.Close()
	}
	// One that exists now was made by a record-v2 peer, which takes no gate.
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, vfs.Info{}, err
	}
	if err := p.dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, vfs.Info{}, err
	}
	if f, err = p.dir.Open(p.logName(), vfs.Append); err != nil {
		return nil, vfs.Info{}, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, vfs.Info{}, err
	}
	return f, info, nil
}

// tornEnd reports whether the last line was not ended.
func tornEnd(f vfs.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return last[0] != '\n', nil
}

// newEntry tells of what is about to happen to the lock in s.
func (p *place) newEntry(event string, s sighting, token fence.Token, reason, by string) LogEntry {
	e := LogEntry{
		At: p.in.Now().UTC().Truncate(time.Millisecond), Event: event, Reason: reason, Fence: token,
		Host: known(probe.Standing(p.sys).Host.Machine.Host), LockID: s.lockID, By: by,
		Verdict: s.finding.Verdict, Evidence: s.finding.Evidence,
	}
	if s.record != nil {
		e.RecoveredPID = int(*s.record.PID)
	}
	if e.Evidence == nil {
		e.Evidence = []identity.Evidence{{Sentence: s.finding.Sentence}}
	}
	return e
}

// thisProcess names the process for the log.
func (p *place) thisProcess() string {
	name := programName()
	who := fmt.Sprintf("process %d", probe.Standing(p.sys).Self.PID)
	if name != "" {
		who += " (" + labelled(name) + ")"
	}
	return who
}

// thisUser names the person for the log, by number: names are for those who ask (cmd/probate does).
func thisUser() string { return "user " + strconv.Itoa(euid()) }
