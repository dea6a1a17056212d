package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs/simfs"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe"
)

// History is what happens until the power is cut, at any moment of it. Its processes run one after
// another.
type History struct {
	Name    string
	Disk    simfs.Options
	Options func(p *Proc, opts *lockfile.Options)
	// Hidden says that nobody can find out who has a file open, so that a record that is torn needs
	// a person.
	Hidden bool
	Run    func(c *Cast)
}

// PowerBounds say how many of the possible disks are looked at.
type PowerBounds struct {
	Model   simfs.CutModel
	Most    int    // all possible disks of a moment, when there are not more
	Samples int    // else so many, and
	Seed    uint64 // which ones
	Again   int    // every how manieth recovery is cut off once more at each of its steps; 0: none
}

// PowerResult is what was looked at.
type PowerResult struct {
	History    string
	Moments    int // operations before which the power was cut
	Disks      int // possible disks that were looked at
	Distinct   int // of them different ones, each recovered
	Again      int // of them after a second cut, during the recovery from the first
	NeedPerson int // with a torn record that nobody can judge
	Sampled    int // moments with more possible disks than were looked at
	Violation  *Violation
	Story      string
}

func (r PowerResult) String() string {
	return fmt.Sprintf("%-22s %5d moments (%d of them sampled), %7d disks, %6d different ones "+
		"recovered, %5d after a second cut, %d need a person", r.History, r.Moments, r.Sampled,
		r.Disks, r.Distinct, r.Again, r.NeedPerson)
}

// promise is what must be true after a power cut.
type promise struct {
	acked  int    // update of the state that somebody was told of
	handed uint64 // number that somebody was given
	boots  int
}

// power is one run of PowerCuts.
type power struct {
	h     *History
	b     PowerBounds
	r     *PowerResult
	seen  map[uint64]bool
	rand  *rand.Rand
	story *story
}

// PowerCuts cuts the power before every operation of a history, and looks at the disks that may be
// found then: what was acknowledged is there, no number comes back, and the next process acquires
// by itself, or says that it needs a person where the record is torn and nothing can be proven.
func PowerCuts(h *History, b PowerBounds) PowerResult {
	r := PowerResult{History: h.Name}
	p := &power{h: h, b: b, r: &r, seen: map[uint64]bool{},
		rand: rand.New(rand.NewPCG(b.Seed, 0))}
	w := newWorld(&Scenario{Name: h.Name, Options: h.Options, OpenersHidden: h.Hidden,
		Unlogged: true}, simfs.New(h.Disk, 0, home))
	w.disk.Put(state, []byte("0"), 0o600, 0)
	w.story = &story{}
	p.story = w.story
	cut := func() {
		if r.Violation == nil {
			r.Moments++
			p.cut(w, promise{w.monitor.acked, w.monitor.handed, 1})
		}
	}
	w.beforeOp = cut
	h.Run(&Cast{w})
	cut()
	if r.Violation == nil {
		r.Violation = w.monitor.broken
	}
	return r
}

// cut looks at the disks that may be found when the power fails now.
func (p *power) cut(w *world, kept promise) {
	try := func(choose simfs.Choose) {
		p.r.Disks++
		disk := w.disk.Cut(p.b.Model, choose)
		key := simfs.Mix(simfs.Mix(disk.Hash(), uint64(kept.acked)), kept.handed)
		if p.seen[key] || p.r.Violation != nil {
			return
		}
		p.seen[key] = true
		p.r.Distinct++
		if kept.boots > 1 {
			p.r.Again++
		}
		p.recover(disk, kept)
	}
	most, samples := p.b.Most, p.b.Samples
	if kept.boots > 1 { // many more moments
		most, samples = most/8, samples/8
	}
	if every(most, try) {
		return
	}
	p.r.Sampled++
	for range samples {
		try(func(n int) int { return p.rand.IntN(n) })
	}
}

// every calls try once for each sequence of choices that it makes, unless there are more than most.
func every(most int, try func(simfs.Choose)) bool {
	var path []choice
	for range most {
		depth := 0
		try(func(n int) int {
			if depth == len(path) {
				path = append(path, choice{0, n})
			}
			depth++
			return path[depth-1].at
		})
		path = path[:depth]
		for len(path) > 0 {
			last := &path[len(path)-1]
			if last.at++; last.at < last.of {
				break
			}
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return true
		}
	}
	return false
}

// recover starts the machine again and lets a new process come.
func (p *power) recover(disk *simfs.Disk, kept promise) {
	w := newWorld(&Scenario{Name: p.h.Name, Options: p.h.Options, OpenersHidden: p.h.Hidden,
		Unlogged: true, LegacyRecovers: true}, disk)
	boot := fmt.Sprintf("01234567-89ab-4cde-8f01-%012d", kept.boots)
	w.host.Boot.ID = probe.Known(boot, "scripted")
	w.nextPID = 1000 * kept.boots
	w.story = &story{lines: append([]string{}, p.story.lines...)}
	w.story.add("", "the power is cut, and comes back")
	for _, name := range disk.Names(home) {
		content, _ := disk.Read(home + "/" + name)
		w.story.add("", "there is "+name+": "+excerpt(content))
	}
	m := &w.monitor
	text, _ := disk.Read(state)
	m.updates = number(text)
	m.lock = disk.Inode(record)
	fail := func(invariant, format string, args ...any) {
		m.fail(invariant, format, args...)
		p.r.Violation, p.r.Story = m.broken, w.story.String()
	}
	if m.updates < kept.acked || m.updates > kept.acked+1 || m.updates > 0 &&
		!strings.Contains(string(text), " by ") {
		fail("power", "update %d was acknowledged, and the state reads %q", kept.acked, text)
		return
	}
	whole, _ := disk.Read(record)
	torn := m.lock != 0 && !strings.HasSuffix(string(whole), "}")
	if n := p.b.Again; n > 0 && kept.boots == 1 && p.r.Distinct%n == 0 {
		told, base := p.story, m.updates // which is on the platter now
		p.story = w.story
		w.beforeOp = func() {
			if p.r.Violation == nil {
				p.cut(w, promise{max(base, m.acked), max(kept.handed, m.handed), 2})
			}
		}
		defer func() { p.story = told }()
	}
	q := w.newProc(&Script{Name: "next"})
	lock, err := lockfile.TryAcquire(state, q.opts)
	if busy, ok := errors.AsType[*lockfile.BusyError](err); ok && p.h.Hidden && torn &&
		busy.Finding.Verdict == identity.Unknown {
		p.r.NeedPerson++
		return
	}
	if err != nil {
		fail("I4", "after a power cut nobody can acquire without a person: %v", err)
		return
	}
	m.acquired(q, q.acquiredAs(lock))
	t := q.Tenure
	t.lock = lock
	if t.token < kept.handed || lock.Recovered() != nil && t.token <= kept.handed {
		fail("I3", "number %d was handed out before the power cut, and %d now", kept.handed,
			t.token)
		return
	}
	q.Update()
	q.Release()
	if m.broken != nil {
		fail("", "")
	}
}
