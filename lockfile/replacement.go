package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/probate-dev/probate/internal/vfs"
)

const opWrite = "write"

// replacement is the new content of a file, under a temporary name beside it. The temporary has the
// form of the lock's own and holds a kernel lock, so that one that a crash leaves is swept like them.
type replacement struct {
	p    *place // of the file that is replaced
	dir  vfs.Dir
	file vfs.File
	temp string // "" once it was renamed
}

func (t *tenure) newReplacement(path string, perm fs.FileMode) (*replacement, error) {
	p, err := openPlace(opWrite, path, t.p.opts)
	if err != nil {
		return nil, err
	}
	w := &replacement{p: p, dir: p.dir, temp: p.tempName()}
	fail := func(step, name string, err error) (*replacement, error) {
		w.close()
		return nil, p.failed(opWrite, step, name, err)
	}
	old, err := p.dir.Stat(p.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
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
	if privileged() && old.UID >= 0 {
		if err := w.file.Chown(old.UID, old.GID); err != nil {
			return fail("give the file its owner", w.temp, err)
		}
		if err := w.file.Chmod(perm); err != nil {
			return fail("give the file its mode", w.temp, err)
		}
	}
	return w, nil
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
	if w.p.opts.Durability != FlushNever {
		if err := w.file.Sync(); err != nil {
			return n, w.p.failed(opWrite, "flush the content", w.temp, err)
		}
	}
	return n, nil
}

func (w *replacement) rename() error {
	if err := w.dir.Rename(w.temp, w.p.base); err != nil {
		return w.p.failed(opWrite, "put the new content in place", w.p.base, err)
	}
	w.temp = ""
	return nil
}

// close removes what was not renamed.
func (w *replacement) close() {
	if w.temp != "" {
		_ = w.dir.Remove(w.temp)
	}
	if w.file != nil {
		_ = w.file.Unlock(vfs.NativeLock())
		_ = w.file.Close()
	}
	w.p.close()
}
