// Package watchdir tells when files in directories may have changed. It never says what changed:
// whoever wants to know looks, after each notice, and cannot miss the last change.
package watchdir

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/probate-dev/probate/probe"
)

// DefaultPoll is how often to look where the system does not tell of every change: on filesystems
// that other machines write to, where no watch can be had, beside kqueue, which loses sight of a
// name for a moment when it is replaced, and on Windows, which does not tell of a watched directory
// that gets another name.
const DefaultPoll = 2 * time.Second

// Watcher gives a notice after every change, several changes in one.
type Watcher struct {
	// C gets a value after changes that it has not told of yet. It is never closed.
	C <-chan struct{}

	notices chan struct{}
	events  *fsnotify.Watcher // nil: polling only
	ended   chan struct{}
	ctx     context.Context

	mu   sync.Mutex
	dirs []string
}

// Watch watches directories until ctx ends; call Close afterwards, which waits for what runs. only
// says which names matter. The first notice is there from the start, after the watch stands, so
// that a caller who looks at each notice has seen everything.
func Watch(ctx context.Context, only func(name string) bool, poll time.Duration,
	dirs ...string) (*Watcher, error) {
	w := &Watcher{notices: make(chan struct{}, 1), ended: make(chan struct{}), ctx: ctx, dirs: dirs}
	w.C = w.notices
	every, err := w.add(dirs)
	if err != nil {
		return nil, err
	}
	if every > 0 && poll > 0 {
		every = poll
	}
	w.notify()
	go w.run(only, every)
	return w, nil
}

// add begins to watch, and returns how often to look besides, 0 for never.
func (w *Watcher) add(dirs []string) (time.Duration, error) {
	var every time.Duration
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			return 0, err
		}
		if local := probe.Real().Filesystem(f.Fd()); !local.Local {
			every = DefaultPoll
		}
		f.Close()
	}
	if runtime.GOOS != "linux" {
		every = DefaultPoll
	}
	events, err := fsnotify.NewWatcher()
	for _, dir := range dirs {
		if err == nil {
			err = events.Add(dir)
		}
	}
	if err != nil { // no descriptors or watches left, or none to be had here
		if events != nil {
			events.Close()
		}
		return DefaultPoll, nil
	}
	w.events = events
	return every, nil
}

// Also watches more directories from now on. One that cannot be watched is left out.
func (w *Watcher) Also(dirs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range dirs {
		if !slices.Contains(w.dirs, dir) {
			if w.events == nil || w.events.Add(dir) == nil {
				w.dirs = append(slices.Clip(w.dirs), dir)
			}
		}
	}
}

func (w *Watcher) watched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirs
}

func (w *Watcher) notify() {
	select {
	case w.notices <- struct{}{}:
	default: // one that was not taken yet tells of this change too
	}
}

func (w *Watcher) run(only func(string) bool, every time.Duration) {
	defer close(w.ended)
	ticker := time.NewTicker(max(every, time.Millisecond))
	defer ticker.Stop()
	if every == 0 {
		ticker.Stop()
	}
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.events != nil {
		defer w.events.Close()
		events, errs = w.events.Events, w.events.Errors
	}
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
			for _, dir := range w.watched() {
				if w.events != nil {
					_ = w.events.Add(dir) // which may be a new one; an old one stays watched
				}
			}
			w.notify()
		case e := <-events:
			if isOne(e.Name, w.watched()) && e.Has(fsnotify.Remove|fsnotify.Rename) {
				ticker.Reset(DefaultPoll) // what comes to that name is not watched
				w.notify()
			} else if only(filepath.Base(e.Name)) {
				w.notify()
			}
		case <-errs: // events were lost: too many at once
			w.notify()
		}
	}
}

func isOne(name string, dirs []string) bool {
	for _, dir := range dirs {
		if filepath.Clean(dir) == filepath.Clean(name) {
			return true
		}
	}
	return false
}

// Wait waits for a notice. It returns false when ctx has ended.
func (w *Watcher) Wait() bool {
	select {
	case <-w.ctx.Done():
		return false
	case <-w.C:
		return w.ctx.Err() == nil
	}
}

// Close waits until nothing runs any more. The context must have ended.
func (w *Watcher) Close() { <-w.ended }
