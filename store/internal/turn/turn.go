// Package turn lets the goroutines of one process stand in line for a file before they compete with
// other processes for its lock, and notices one that would wait for itself.
package turn

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/probate-dev/probate/internal/ended"
)

// ErrReentrant is returned to a goroutine whose turn it is already.
var ErrReentrant = errors.New("called inside an update of the same file")

// ErrTaken is returned by Try when it is another goroutine's turn.
var ErrTaken = errors.New("another goroutine of this process is at it")

type line struct {
	place   chan struct{} // holds one token while it is somebody's turn
	waiting int           // who stands here or is at it
	holder  string        // goroutine
}

var (
	mu    sync.Mutex
	lines = map[string]*line{}
)

// Key returns what two spellings of one path have in common, as far as that can be seen now.
func Key(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if target, err := os.Readlink(path); err == nil && filepath.IsAbs(target) {
		path = target
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return path
}

// Take waits until it is the caller's turn, or until ctx ends, whose cause it returns then. done
// ends the turn; it is called once.
func Take(ctx context.Context, key string) (done func(), err error) {
	l, me, err := join(key)
	if err != nil {
		return nil, err
	}
	select {
	case l.place <- struct{}{}:
	case <-ctx.Done():
		l.leave(key)
		return nil, ended.Cause(ctx)
	}
	return l.taken(key, me), nil
}

// Try is Take without any waiting: ErrTaken.
func Try(key string) (done func(), err error) {
	l, me, err := join(key)
	if err != nil {
		return nil, err
	}
	select {
	case l.place <- struct{}{}:
	default:
		l.leave(key)
		return nil, ErrTaken
	}
	return l.taken(key, me), nil
}

func join(key string) (*line, string, error) {
	me := goroutine()
	mu.Lock()
	defer mu.Unlock()
	l := lines[key]
	if l == nil {
		l = &line{place: make(chan struct{}, 1)}
		lines[key] = l
	}
	if l.holder == me {
		return nil, "", ErrReentrant
	}
	l.waiting++
	return l, me, nil
}

func (l *line) taken(key, me string) func() {
	mu.Lock()
	l.holder = me
	mu.Unlock()
	return func() {
		mu.Lock()
		l.holder = ""
		mu.Unlock()
		<-l.place
		l.leave(key)
	}
}

func (l *line) leave(key string) {
	mu.Lock()
	defer mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		delete(lines, key)
	}
}

// goroutine names the calling goroutine. The language has no other way to ask, and the first line
// of a stack trace has not changed since it exists.
func goroutine() string {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)]
	name, _, _ := bytes.Cut(head, []byte(" ["))
	return string(name)
}
