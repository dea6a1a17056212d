package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/probate-dev/probate/internal/vfs"
)

const opWrite = "write"

// replacement is the new content of a file, under a temporary name beside it. The temporary is
// named like those of the lock (of the one that is held where the file lies in its directory, of
// the file's own otherwise) and holds a kernel lock, so that one that a crash leaves is swept like
// them.
type replacement struct {
	p    *place // of the file that is replaced
	dir  vfs.Dir
	lent bool // dir is that of the lock, which the writer has entered
	file vfs.File
	temp string // "" once it was renamed

	besides *place // whose lock has its files in the same directory, or p
}

func (w *replacement) tempName() string { return w.besides.tempName() }

func (t *tenure) newReplacement(path string, perm fs.FileMode) (*replacement, error) {
	w, old, is, err := t.target(path)
	if w == nil {
		return nil, err
	}
	p := w.p
	w.temp = w.tempName()
	fail := func(step, name string, err error) (*replacement, error) {
		w.close()
		return nil, p.failed(opWrite, step, name, err)
	}
	switch {
	case err == nil && !is:
		old.UID, old.GID = -1, -1
	case err != nil:
		w.temp = ""
		return fail("look at the file", p.base, err)
	case !old.Mode.IsRegular():
		w.temp = ""
		return fail("look at the file", p.base,
			fmt.Errorf("%w: it is %s", vfs.ErrNotRegular, describeMode(old.Mode)))
	default:
		perm = old.Mode.Perm()
	}
	if w.file, err = p.dir.Create(w.temp, perm); err != nil {
		w.temp = ""
		return fail("create a temporary file", p.base, err)
	}
	// Without kernel locks a crash may leave the temporary for a person to remove.
	_ = w.file.Lock(vfs.NativeLock())
	if made, err := vfs.Opened(w.file); err == nil && made.UID == old.UID && made.GID == old.GID {
		return w, nil
	}
	if old.UID >= 0 && w.p.in.privileged() {
		if err := giveTo(w.file, old.UID, old.GID); err != nil {
			return fail("give the file its owner", w.temp, err)
		}
		if err := w.file.Chmod(perm); err != nil {
			return fail("give the file its mode", w.temp, err)
		}
	}
	return w, nil
}

// target finds the file to replace, and says what is there, and whether something is. Without one
// the error says why not; with one it is that of the look. A path that was that of the state, and
// leads elsewhere by now, is refused: what stands there has a lock of its own.
func (t *tenure) target(path string) (w *replacement, old vfs.Info, is bool, err error) {
	if self, err := t.p.self(); err == nil {
		base, old, is, ok := vfs.Within(t.p.opts.fileSystem(), path, t.p.dir, self)
		if ok && checkName(opWrite, path, base) == nil {
			if base != t.p.base && t.names(path) {
				return nil, old, false, elsewhere(path)
			}
			w := &replacement{p: t.p, dir: t.p.dir, lent: true, besides: t.p}
			if base != t.p.base {
				w.p = newPlace(t.p.dir, base, &t.p.opts)
			}
			return w, old, is, nil
		}
	}
	ours := t.names(path)
	p, err := openTarget(opWrite, path, &t.p.opts)
	if e, ok := err.(*Error); ok && ours && KindOf(err) == KindNotFound {
		e.Next = "see where its directory was moved: the lock has moved with it"
	}
	if err != nil {
		return nil, old, false, err
	}
	w = &replacement{p: p, dir: p.dir, besides: p}
	same, err := p.sameDir(t.p)
	switch {
	case ours && err != nil:
		p.close()
		return nil, old, false, t.p.failed(opWrite, stepFind, p.base, err)
	case ours && (!same || p.base != t.p.base):
		p.close()
		return nil, old, false, elsewhere(path)
	case same:
		w.besides = t.p // swept with the lock that is held
	}
	old, is, err = vfs.Found(p.dir, p.base)
	return w, old, is, err
}

const stepFind = "find the file"

// names reports whether path is a name that the state had when it was locked: as it was given, or
// as it was resolved.
func (t *tenure) names(path string) bool { return path == t.p.asked || path == t.p.state() }

func elsewhere(path string) error {
	return &Error{Op: opWrite, Path: path, Step: stepFind,
		Err: errors.New("the path leads to another file than the one whose lock this is: " +
			"its directory was replaced, or a link was changed"),
		Next: "release the lock, and acquire the one of what stands there now"}
}

func (p *place) sameDir(q *place) (bool, error) {
	a, err := p.dir.Self()
	if err != nil {
		return false, err
	}
	b, err := q.self()
	return err == nil && a.SameFile(b), err
}

// self is dir.Self, asked once: which directory is open does not change.
func (p *place) self() (vfs.Info, error) {
	if at := p.at.Load(); at != nil {
		return *at, nil
	}
	at, err := p.dir.Self()
	if err == nil {
		p.at.Store(&at)
	}
	return at, err
}

// fillWith writes and flushes the content: all of r, or data where r is nil.
func (w *replacement) fillWith(data []byte, r io.Reader) (int64, error) {
	if r != nil {
		return w.fill(r)
	}
	if _, err := w.file.WriteAt(data, 0); err != nil {
		return 0, w.p.failed(opWrite, "write the content", w.temp, err)
	}
	return int64(len(data)), w.flush()
}

// fill writes and flushes the content.
func (w *replacement) fill(r io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	var n int64
	for {
		m, readErr := r.Read(buf)
		if m > 0 {
			if _, err := w.file.WriteAt(buf[:m], n); err != nil {
				return n, w.p.failed(opWrite, "write the content", w.temp, err)
			}
			n += int64(m)
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return n, w.p.failed(opWrite, "read the new content", w.p.base, readErr)
		}
	}
	return n, w.flush()
}

func (w *replacement) flush() error {
	if w.p.opts.Durability != FlushNever {
		if err := w.file.Sync(); err != nil {
			return w.p.failed(opWrite, "flush the content", w.temp, err)
		}
	}
	return nil
}

// rename is run under the gate, where nobody sweeps.
func (w *replacement) rename() error {
	err := w.dir.Rename(w.temp, w.p.base)
	if errors.Is(err, fs.ErrNotExist) {
		// A sweep met the temporary between its creation and its kernel lock.
		if err = w.again(); err == nil {
			err = w.dir.Rename(w.temp, w.p.base)
		}
	}
	if err != nil {
		return w.p.failed(opWrite, "put the new content in place", w.p.base, err)
	}
	w.temp = ""
	w.closeFile()
	return nil
}

// closeFile is called as soon as the file has its name: on Windows many programs cannot open a file
// for reading while its maker has it open.
func (w *replacement) closeFile() {
	if w.file != nil {
		_ = w.file.Close() // and with it the kernel lock, which says nothing about this name
		w.file = nil
	}
}

// again copies the content, which is still open, to a temporary that has a name.
func (w *replacement) again() error {
	old, err := w.file.Stat()
	if err != nil {
		return err
	}
	lost := w.file
	w.temp = w.tempName()
	if w.file, err = w.dir.Create(w.temp, old.Mode.Perm()); err != nil {
		w.file, w.temp = lost, ""
		return err
	}
	defer lost.Close()
	if w.p.in.privileged() && old.UID >= 0 {
		if err := giveTo(w.file, old.UID, old.GID); err != nil {
			return err
		}
	}
	_, err = w.fill(io.NewSectionReader(lost, 0, old.Size))
	return err
}

// close removes what was not renamed.
func (w *replacement) close() {
	if w.temp != "" {
		_ = w.dir.Remove(w.temp)
	}
	w.closeFile()
	if !w.lent {
		w.p.close()
	}
}
