package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/probate-dev/probate/lockfile"
)

// writer changes the folder while its lock is held. Every change becomes visible inside
// lockfile.Lock.Commit, so that a writer that was overtaken changes nothing any more. After a crash
// between any two steps the files say the same as before the change or as after it.
type writer struct {
	*view
	ctx   context.Context
	lock  *lockfile.Lock
	temps []string // not in place yet
	n     int
}

// prepare makes the folders, and clears up after a writer that died.
func (w *writer) prepare() error {
	if !w.f.prepared.Load() {
		if err := w.makeFolders(); err != nil {
			return err
		}
		w.f.prepared.Store(true)
	}
	if w.lock.Recovered() == nil {
		return nil
	}
	return w.sweep()
}

func (w *writer) makeFolders() error {
	made := false
	for _, dir := range folders {
		err := w.step("mkdir " + dir)
		if err == nil {
			err = w.root.Mkdir(dir, 0o700)
		}
		if err == nil {
			err = give(w.root, dir)
		}
		switch {
		case err == nil:
			made = true
		case !errors.Is(err, fs.ErrExist):
			return w.failed("make the folder", dir, "", err)
		}
	}
	if made {
		if err := w.flush("."); err != nil {
			return w.failed("flush the folder", ".", "", err)
		}
	}
	return nil
}

// step is called before everything that changes something on disk.
func (w *writer) step(text string) error {
	if w.f.hook == nil {
		return nil
	}
	return w.f.hook(text)
}

func (w *writer) flush(dir string) error {
	if err := w.step("flush " + dir); err != nil {
		return err
	}
	return flush(w.root, dir)
}

// sweep removes what a writer left behind that is gone. One that was overtaken and still lives may
// lose what it was about to put in place, which it cannot any more.
func (w *writer) sweep() error {
	names, err := w.names(dirTemp)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := w.step("sweep " + name)
		if err == nil {
			err = w.root.Remove(dirTemp + "/" + name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return w.failed("remove what a writer left behind", dirTemp+"/"+name, "", err)
		}
	}
	return nil
}

// temp writes a file that is not in place yet, and makes its content durable.
func (w *writer) temp(data []byte, id string) (string, error) {
	w.n++
	name := fmt.Sprintf("%s/%s-%d%s", dirTemp, w.lock.ID(), w.n, suffixTemp)
	var file *os.File
	for _, s := range []struct {
		text, step string
		fn         func() error
	}{
		{"create", "create a temporary file", func() (err error) {
			if file, err = w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL,
				0o600); err == nil {
				w.temps = append(w.temps, name)
				err = give(w.root, name)
			}
			return err
		}},
		{"write", "write the new version", func() error { _, err := file.Write(data); return err }},
		{"flush", "flush the new version", func() error { return file.Sync() }},
		{"close", "close the new version", func() error { return file.Close() }},
	} {
		err := w.step(s.text + " " + name)
		if err == nil {
			err = s.fn()
		}
		if err != nil {
			if file != nil {
				_ = file.Close()
			}
			return "", w.failed(s.step, name, id, err)
		}
	}
	return name, nil
}

// dropTemps removes what was not put in place.
func (w *writer) dropTemps() {
	for _, name := range w.temps {
		_ = w.root.Remove(name)
	}
	w.temps = nil
}

// commit runs fn, which puts files in place, if the lock is still held, and makes the names in the
// store's folder and in those of dirs durable.
func (w *writer) commit(id string, fn func() error, dirs ...string) error {
	err := w.lock.Commit(w.ctx, func() error {
		if err := w.step("commit"); err != nil {
			return err
		}
		return fn()
	})
	if err != nil {
		if _, ours := errors.AsType[*Error](err); ours {
			return err
		}
		return w.failed("put the change in place", lockState, id, err)
	}
	for _, dir := range dirs {
		if err := w.flush(dir); err != nil {
			return w.failed("flush the folder", dir, id,
				fmt.Errorf("%w: it may not outlast a power cut: %w", lockfile.ErrUnsure, err))
		}
	}
	return nil
}

// move renames, inside commit.
func (w *writer) move(from, to, id string) error {
	err := w.step("rename " + from + " " + to)
	if err == nil {
		err = patiently(func() error { return w.root.Rename(from, to) })
	}
	if err != nil {
		return w.failed("put the file in place", to, id, err)
	}
	for i, name := range w.temps {
		if name == from {
			w.temps = append(w.temps[:i], w.temps[i+1:]...)
			break
		}
	}
	return nil
}

// keep makes the newest version the one before, inside commit. What cannot be read is kept aside,
// and never becomes the previous version.
func (w *writer) keep(s *slot, id string) error {
	switch {
	case s.damaged:
		return w.move(s.file, dirDamaged+"/"+path.Base(s.file), id)
	case s.op == nil || s.restored != "":
		return nil
	}
	// A second name for the newest version, so that there is no moment without one.
	second := fmt.Sprintf("%s/%s-kept%s", dirTemp, w.lock.ID(), suffixTemp)
	err := w.step("link " + s.file + " " + second)
	if err == nil {
		err = w.root.Link(s.file, second)
	}
	if err != nil {
		return w.move(s.file, before(s.file), id) // no links here: readers know how to do without
	}
	err = w.move(second, before(s.file), id)
	_ = w.root.Remove(second) // it stays where both names were one file before
	return err
}

// replace puts a new version of the operation in its environment's file.
func (w *writer) replace(s *slot, op *stored, more ...func() error) error {
	data, err := encodeFile(kindOperation, *op)
	if err != nil {
		return w.failed("write the operation", s.file, op.ID, err)
	}
	temp, err := w.temp(data, op.ID)
	if err != nil {
		return err
	}
	return w.commit(op.ID, func() error {
		for _, fn := range more {
			if err := fn(); err != nil {
				return err
			}
		}
		if err := w.keep(s, op.ID); err != nil {
			return err
		}
		return w.move(temp, s.file, op.ID)
	})
}

// bind makes a file that says what a request id or a nonce was used for. The function that it
// returns puts it in place, durably, inside commit: before what it speaks of exists.
func bind[T any](w *writer, kind, dir, name, id string, body T) (func() error, error) {
	data, err := encodeFile(kind, body)
	if err != nil {
		return nil, w.failed("write what it was used for", name, id, err)
	}
	temp, err := w.temp(data, id)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := w.move(temp, name, id); err != nil {
			return err
		}
		if err := w.flush(dir); err != nil {
			return w.failed("flush the folder", dir, id, err)
		}
		return nil
	}, nil
}

// give puts a new operation into the file of its environment, in two copies, and moves the finished
// one that stands there on to the others.
func (w *writer) give(s *slot, op Operation, more ...func() error) error {
	data, err := encodeFile(kindOperation, stored{Operation: op})
	if err != nil {
		return w.failed("write the operation", s.file, op.ID, err)
	}
	first, err := w.temp(data, op.ID)
	if err != nil {
		return err
	}
	second, err := w.temp(data, op.ID)
	if err != nil {
		return err
	}
	var dirs []string
	away := func() error { return nil }
	if s.op != nil {
		done := operationFile(dirFinished, s.op.ID)
		from := s.file
		if s.restored != "" { // there is only its previous copy, and that name is needed
			old, err := encodeFile(kindOperation, *s.op)
			if err != nil {
				return w.failed("write the finished operation", done, s.op.ID, err)
			}
			if from, err = w.temp(old, s.op.ID); err != nil {
				return err
			}
		}
		away = func() error { return w.move(from, done, s.op.ID) }
		dirs = []string{dirFinished}
	}
	return w.commit(op.ID, func() error {
		for _, fn := range more {
			if err := fn(); err != nil {
				return err
			}
		}
		if s.restored != "" { // else the copy of another operation would stand in for it
			if err := away(); err != nil {
				return err
			}
		}
		if err := w.move(second, before(s.file), op.ID); err != nil {
			return err
		}
		if s.restored == "" {
			if err := away(); err != nil {
				return err
			}
		}
		if s.damaged {
			if err := w.move(s.file, dirDamaged+"/"+path.Base(s.file), op.ID); err != nil {
				return err
			}
		}
		return w.move(first, s.file, op.ID)
	}, dirs...)
}

// settle begins the follow-up of the operation in the slot, where a crash came between the two.
func (w *writer) settle(s *slot) error {
	if s.op == nil || s.op.Next == nil {
		return nil
	}
	return w.give(s, *s.op.Next)
}
