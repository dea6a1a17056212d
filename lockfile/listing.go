package lockfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/probate-dev/probate/internal/shell"
	"github.com/probate-dev/probate/probe"
)

// listing is a walk under way: one goroutine walks and puts the locks that it finds into batches,
// some judge them, and who runs the loop takes the batches in the order of the walk.
type listing struct {
	opts  Options
	sight probe.Sight
	stop  chan struct{} // closed when nobody wants more
	order chan *batch   // as they were found
	work  chan *batch   // the same, for who judges
	ended sync.WaitGroup
}

// batch is some locks of one folder, or an error in place of them.
type batch struct {
	folder string
	states []string
	found  []listed
	done   chan struct{} // closed when found is complete
}

// batchSize is how many locks share an open directory, and a hand from one goroutine to another.
const batchSize = 64

func startListing(root string, opts Options) *listing {
	workers := runtime.GOMAXPROCS(0)
	l := &listing{
		opts:  opts,
		sight: probe.NewSight(opts.system()),
		stop:  make(chan struct{}),
		order: make(chan *batch, 2*workers),
		work:  make(chan *batch, 2*workers),
	}
	l.ended.Go(func() {
		defer close(l.order)
		defer close(l.work)
		l.walk(root)
	})
	for range workers {
		l.ended.Go(func() {
			for b := range l.work {
				b.judgeAll(l.opts, l.sight, l.stop)
				close(b.done)
			}
		})
	}
	return l
}

// run yields what is found, until there is no more or nobody wants more.
func (l *listing) run(yield func(Inspection, error) bool) {
	defer l.ended.Wait()
	defer close(l.stop)
	for b := range l.order {
		<-b.done
		for _, found := range b.found {
			if !yield(found.in, found.err) {
				return
			}
		}
	}
}

// put hands a batch on. False says that nobody wants more.
func (l *listing) put(b *batch) bool {
	b.done = make(chan struct{})
	judged := len(b.states) == 0
	if judged {
		close(b.done)
	}
	select {
	case l.order <- b:
	case <-l.stop:
		return false
	}
	if judged {
		return true
	}
	select {
	case l.work <- b:
		return true
	case <-l.stop:
		return false
	}
}

// failed puts an error about a directory into its place in the order.
func (l *listing) failed(path string, err error) bool {
	return l.refused(path, err, placeAdvice("list", err, path))
}

func (l *listing) refused(path string, err error, next string) bool {
	return l.put(&batch{found: []listed{{Inspection{State: path},
		&Error{Op: "list", Path: path, Step: "read the directory", Err: err, Next: next}}}})
}

// walk lists what was asked for, which may be a lock itself. Any other file is a mistake: who asks
// for the locks below a state wants to know of its own.
func (l *listing) walk(root string) {
	info, err := os.Lstat(root)
	if err != nil {
		l.failed(root, err)
		return
	}
	folder, name := filepath.Split(root)
	state, ok := stateOf(name)
	if ok && !l.put(&batch{folder: folder, states: []string{state}}) {
		return
	}
	switch {
	case info.IsDir():
		l.walkFolder(root, true)
	case !ok:
		l.refused(root, errors.New("not a directory"),
			"to look at one lock: probate inspect "+shell.Raw.Operand(root))
	}
}

// stateOf returns the name of the state whose record has that name.
func stateOf(name string) (state string, ok bool) {
	state, ok = strings.CutSuffix(name, lockSuffix)
	return state, ok && state != ""
}

// entries are the names of a folder, as a hundred thousand of them should be held: one after the
// other, each between a byte that says whether it is a folder and a NUL.
type entries struct {
	text []byte
	at   []int // where each begins
}

func (e *entries) add(name string, folder bool) {
	e.at = append(e.at, len(e.text))
	flag := byte(0)
	if folder {
		flag = 1
	}
	e.text = append(append(append(e.text, flag), name...), 0)
}

func (e *entries) name(at int) []byte {
	rest := e.text[at+1:]
	return rest[:bytes.IndexByte(rest, 0)]
}

func (e *entries) sort() {
	slices.SortFunc(e.at, func(a, b int) int { return bytes.Compare(e.name(a), e.name(b)) })
}

// walkFolder goes through one folder and those below it. False says that nobody wants more.
func (l *listing) walkFolder(path string, isRoot bool) bool {
	all, err := l.entries(path)
	if err != nil && (isRoot || !errors.Is(err, fs.ErrNotExist)) { // else it was there a moment ago
		if !l.failed(path, err) {
			return false
		}
	}
	var some *batch
	put := func() bool {
		b := some
		some = nil
		return b == nil || l.put(b)
	}
	for _, at := range all.at {
		name := string(all.name(at))
		if state, ok := stateOf(name); ok {
			if some == nil {
				some = &batch{folder: path}
			}
			if some.states = append(some.states, state); len(some.states) == batchSize && !put() {
				return false
			}
		}
		folder := all.text[at] != 0
		if folder && (!put() || !l.walkFolder(filepath.Join(path, name), false)) {
			return false
		}
	}
	return put()
}

// entries returns the folders and the records in a folder, sorted by name: all that could be read,
// with the error that ended it.
func (l *listing) entries(path string) (found entries, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return found, err
	}
	defer dir.Close()
	for err == nil {
		var some []fs.DirEntry
		some, err = dir.ReadDir(1 << 10)
		for _, e := range some {
			_, record := stateOf(e.Name())
			if folder := e.IsDir(); folder || record {
				found.add(e.Name(), folder)
			}
		}
		select {
		case <-l.stop:
			return entries{}, nil
		default:
		}
	}
	if err == io.EOF {
		err = nil
	}
	found.sort()
	return found, err
}
