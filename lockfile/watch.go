package lockfile

import (
	"errors"
	"sync"
	"time"

	"github.com/probate-dev/probate/internal/wake"
)

// watchPause is the time between two looks at a lock whose context somebody waits for, where
// nothing tells of a loss, and watchSlow where its record and the counter are watched.
var watchPause, watchSlow = 200 * time.Millisecond, 5 * time.Second

// lossWatch notices that a held lock was lost.
type lossWatch struct {
	mu       sync.Mutex
	on       bool
	over     bool
	looking  bool // on a goroutine; again: once more after that
	again    bool
	watches  []*wake.Watch
	stopLate func()
}

// watch notices a loss from now on, until the lock ends. Where the system tells of changes of a
// file, no goroutine waits for them.
func (l *Lock) watch() {
	l.mu.Lock()
	ended := l.ended != nil
	l.mu.Unlock()
	w := &l.loss
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on || w.over || ended {
		return
	}
	w.on = true
	if l.watchFiles() {
		w.stopLate = l.p.in.Later(watchSlow, l.suspect)
		w.looking = true
		l.p.in.Go(l.lookForLoss) // for what happened before
		return
	}
	ctx := l.context()
	l.p.in.Go(func() {
		for l.p.in.Pause(ctx, watchPause/2+jitter(watchPause/2)) == nil {
			if errors.Is(l.Check(), ErrLost) {
				return
			}
		}
	})
}

// watchFiles has the system tell of changes of the record and of the counter, which every takeover
// and break raises. l.loss is locked.
func (l *Lock) watchFiles() bool {
	if !l.p.in.watches || !wake.Cheap || !l.p.fs.Local {
		return false
	}
	l.p.enter()
	defer l.p.leave()
	pin, err := l.p.dir.Pin(l.p.fenceName())
	if err != nil {
		return false
	}
	defer pin.Close()
	for name, handle := range map[string]uintptr{
		l.p.lockName(): l.d.file.Handle(), l.p.fenceName(): pin.Handle(),
	} {
		watch := wake.Open(wake.Target{Dir: l.p.dir.Path(), Name: name, Handle: handle,
			Tell: func() { l.p.in.Go(l.suspect) }, Quietly: true})
		l.loss.watches = append(l.loss.watches, watch)
		if !watch.File {
			l.loss.close()
			return false
		}
	}
	return true
}

// suspect looks for a loss on a goroutine of its own, of which there is at most one.
func (l *Lock) suspect() {
	w := &l.loss
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case w.looking:
		w.again = true
	default:
		w.looking = true
		l.p.in.Go(l.lookForLoss)
	}
}

func (l *Lock) lookForLoss() {
	w := &l.loss
	for {
		lost := errors.Is(l.Check(), ErrLost)
		w.mu.Lock()
		again := w.again && !lost && !w.over
		w.again, w.looking = false, again
		if !again {
			if !w.over && !lost {
				w.stopLate()
				w.stopLate = l.p.in.Later(watchSlow, l.suspect)
			}
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

// unwatch ends the watch. It does not wait for that.
func (l *Lock) unwatch() {
	w := &l.loss
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.over = true
	if w.stopLate != nil {
		w.stopLate()
	}
	w.close()
}

// close is called with w locked. The watches may be telling at this moment, and wait for the lock:
// so not here.
func (w *lossWatch) close() {
	for _, watch := range w.watches {
		go watch.Close()
	}
	w.watches = nil
}
