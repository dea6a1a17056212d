// Package wake tells when it is worth looking again at a file that somebody else removes or writes,
// and at a process that ends. It takes no locks on anything that it watches, and is a hint: it may
// wake for nothing, and whoever relies on it still looks from time to time.
package wake

import "sync"

// Target is what to watch.
type Target struct {
	// Dir and Name are the path of the file, Handle an open descriptor of it: of any kind, only
	// used while Open runs.
	Dir, Name string
	Handle    uintptr
	// PID is the process whose end is to be noticed, 0 for none.
	PID int
	// Tell is called at every event, instead of C having a value. It must return at once.
	Tell func()
	// Quietly leaves out that somebody closes the file who could have written it, and did not.
	Quietly bool
}

// Watch is told of changes until it is closed.
type Watch struct {
	// C has a value when something happened since the last receive.
	C <-chan struct{}
	// File and Process report whether changes of the file and the end of the process are noticed.
	File, Process bool

	c     chan struct{}
	fn    func()
	mu    sync.Mutex
	close []func()
}

// Open watches a target. A file is watched until it is removed, renamed, written or closed by
// somebody who could write it. What cannot be watched, for want of means or because the system
// refuses, is left out; see File and Process. Look once more after Open, for what happened before.
//
// # Linux
//
// One inotify instance for all watches of a process, with a watch on the inode alone, so that
// nothing else in the directory wakes anybody; and a pidfd in the runtime's poller.
//
// # macOS, FreeBSD, NetBSD, OpenBSD, DragonFly
//
// One kqueue for each Watch: EVFILT_VNODE on a descriptor of the file, EVFILT_PROC on the process.
//
// # Windows
//
// A change notification of the directory and a handle of the process, in one wait on a thread of
// its own.
func Open(t Target) *Watch {
	w := &Watch{fn: t.Tell}
	if w.fn == nil {
		w.c = make(chan struct{}, 1)
		w.C = w.c
	}
	w.open(t)
	return w
}

// Close ends the watch and gives everything back.
func (w *Watch) Close() {
	w.mu.Lock()
	end := w.close
	w.close = nil
	w.mu.Unlock()
	for _, fn := range end {
		fn()
	}
}

func (w *Watch) atClose(fn func()) { w.close = append(w.close, fn) }

func (w *Watch) tell() {
	if w.fn != nil {
		w.fn()
		return
	}
	select {
	case w.c <- struct{}{}:
	default: // it has not yet looked since it was told last
	}
}
