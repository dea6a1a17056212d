package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/probate-dev/probate/internal/vfs"
)

// WriteFileKeeping is WriteFile, and what it replaces stays: as the file previous, a name in the
// directory of path, whose own content is given up. Both become visible under one gate, so a
// holder that lost its lock changes neither; a crash in between leaves path whole, and previous
// as it was or already equal to path. Where path does not exist, previous is left alone.
func (t *tenure) WriteFileKeeping(path, previous string, data []byte, perm fs.FileMode) error {
	if previous == "" {
		previous = "." // refused below
	}
	_, err := t.write(path, data, nil, perm, previous)
	return err
}

// checkPrevious makes sure that a kept file cannot take the place of another one.
func (w *replacement) checkPrevious(t *tenure, name string) error {
	var err error
	switch {
	case name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) || name == ".":
		err = fmt.Errorf("%q is not a name in the directory of the file", name)
	case name == w.p.base, vfs.ManySpellings() && strings.EqualFold(name, w.p.base):
		err = fmt.Errorf("%s cannot be kept as itself", name)
	case w.p.isOwn(name) || w.besides == t.p && t.p.isOwn(name):
		err = fmt.Errorf("%s is a file of the lock itself", name)
	default:
		return nil
	}
	return w.p.failed(opWrite, "check the name", w.p.base, err)
}

// renameKeeping is rename, and keeps what it replaces. It is run under the gate.
func (w *replacement) renameKeeping(previous string) error {
	const step = "keep the previous content"
	old, err := w.dir.Stat(w.p.base)
	if errors.Is(err, fs.ErrNotExist) {
		return w.rename()
	}
	if err != nil {
		return w.p.failed(opWrite, step, w.p.base, err)
	}
	if _, err := w.dir.Stat(w.temp); errors.Is(err, fs.ErrNotExist) { // swept, see rename
		if err := w.again(); err != nil {
			return w.p.failed(opWrite, "put the new content in place", w.p.base, err)
		}
	}
	err = w.dir.Exchange(w.temp, w.p.base)
	if err == nil {
		if err = w.dir.Rename(w.temp, previous); err == nil {
			w.temp = ""
			return nil
		}
		if back := w.dir.Exchange(w.temp, w.p.base); back != nil {
			w.temp = "" // it is the old content, and all that is left of it
			return w.p.failed(opWrite, step, previous, fmt.Errorf("%w: %w; then %w", ErrUnsure,
				err, back))
		}
		return w.p.failed(opWrite, step, previous, err)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return w.p.failed(opWrite, "put the new content in place", w.p.base, err)
	}
	if err := w.keepAside(old, previous); err != nil {
		return w.p.failed(opWrite, step, previous, err)
	}
	return w.rename()
}

// keepAside gives the old content a second name, where two names cannot be exchanged.
func (w *replacement) keepAside(old vfs.Info, previous string) error {
	if kept, err := w.dir.Stat(previous); err == nil && kept.SameFile(old) {
		return nil // a crash came in between; renaming a file to itself would change nothing
	}
	aside := w.tempName()
	err := w.dir.Link(w.p.base, aside)
	if err != nil { // no links here, or no more of them
		err = w.copyOld(aside, old)
	}
	if err != nil {
		return err
	}
	if err := w.dir.Rename(aside, previous); err != nil {
		_ = w.dir.Remove(aside)
		return err
	}
	return nil
}

// copyOld makes a copy, where a file can have one name only.
func (w *replacement) copyOld(aside string, old vfs.Info) error {
	from, err := w.dir.Open(w.p.base, vfs.Read)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := w.dir.Create(aside, old.Mode.Perm())
	if err != nil {
		return err
	}
	copied := replacement{p: w.p, dir: w.dir, file: to, temp: aside}
	_, err = copied.fill(io.NewSectionReader(from, 0, old.Size))
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = w.dir.Remove(aside)
	}
	return err
}
