package simfs_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/probate-dev/probate/internal/vfs/simfs"
)

// outcome is what came of an operation that was made again.
type outcome struct {
	err       string
	seen      uint64
	changed   bool
	said      bool
	unnoticed bool
	touched   simfs.Touch
}

// watcher keeps the outcomes of a process.
type watcher struct{ outcomes []outcome }

func (k *watcher) Before(*simfs.Op) error { return nil }

func (k *watcher) After(op *simfs.Op) {
	o := outcome{seen: op.Seen, changed: op.Changed, said: op.Said, touched: op.Touched}
	if op.Err != nil {
		o.err = op.Err.Error()
	}
	k.outcomes = append(k.outcomes, o)
}

// TestTouchesTell makes operations of two processes in both orders, each on a copy of one disk.
// Where what they touch is not in conflict, each has the same outcome first and last, and the disk
// is the same after both.
func TestTouchesTell(t *testing.T) {
	independent := map[simfs.Kind]int{}
	for range 50 { // each is a hundred pairs
		rapid.Check(t, func(t *rapid.T) { inBothOrders(t, independent) })
	}
	for _, kind := range []simfs.Kind{simfs.OpOpen, simfs.OpCreate, simfs.OpLink, simfs.OpRename,
		simfs.OpExchange, simfs.OpRemove, simfs.OpStat, simfs.OpRead, simfs.OpWrite, simfs.OpLock,
		simfs.OpUnlock, simfs.OpLocked, simfs.OpClose} {
		if independent[kind] == 0 && !t.Failed() {
			t.Errorf("no %s was independent of anything: nothing is tested", kind)
		}
	}
}

// inBothOrders makes two operations after a few others, and counts those that are independent.
func inBothOrders(t *rapid.T, independent map[simfs.Kind]int) {
	w := newCouple(t)
	var watchers [2][2]watcher
	var twins [2]*simfs.Disk
	for order := range twins {
		twins[order] = w.disk.Copy(func(id uint64) simfs.Hooks {
			return &watchers[order][id-1]
		})
	}
	var ops [2]simfs.Op
	for i := range ops {
		done := w.act(t, i)
		if len(done) == 0 {
			return
		}
		ops[i] = done[0]
	}
	for order, twin := range twins {
		for _, i := range [][2]int{{0, 1}, {1, 0}}[order] {
			p := twin.Find(uint64(i + 1))
			unnoticed := ops[i].Depends && p.Unnoticed(&ops[i])
			p.Again(&ops[i], ops[i].Private)
			watchers[order][i].outcomes[0].unnoticed = unnoticed
		}
	}
	first, second := watchers[0], watchers[1]
	if first[0].outcomes[0].touched.Conflicts(first[1].outcomes[0].touched) {
		return
	}
	for i := range ops {
		independent[ops[i].Kind]++
		if a, b := first[i].outcomes[0], second[i].outcomes[0]; a != b {
			t.Fatalf("%+v and %+v: that of process %d comes to %+v, and in the other order to %+v",
				ops[0], ops[1], i, a, b)
		}
	}
	if twins[0].Hash() != twins[1].Hash() {
		t.Fatalf("the disk differs after %+v and %+v in the other order", ops[0], ops[1])
	}
}
