package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/refusal"
	"github.com/probate-dev/probate/store/internal/tenure"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/watchdir"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

// CompareAndSwap is explained at Store. It waits for other writers of the same document until ctx
// ends. The write is durable unless the durability of the lock says otherwise.
func (f *Folder) CompareAndSwap(ctx context.Context, key string, expected Version,
	value json.RawMessage) (Version, error) {
	path := f.Path(key)
	if err := f.begin(ctx, opSwap, key); err != nil {
		return Absent, err
	}
	canonical, err := prepare(key, path, value)
	if err != nil {
		return Absent, err
	}
	var next Version
	err = f.change(ctx, opSwap, key, expected, func(f *Folder, lock *lockfile.Lock) error {
		reached, err := expected, error(nil)
		if expected == Absent {
			if reached, err = f.deletedAt(opSwap, key); err != nil {
				return err
			}
		}
		if next, err = after(reached, key, path); err != nil {
			return err
		}
		data := encode(next, canonical)
		if int64(len(data)) > f.opts.MaxBytes {
			return Explain(opSwap, key, path, "encode the document", fmt.Errorf(
				"%w: %d bytes, at most %d", wholefile.ErrTooLarge, len(data), f.opts.MaxBytes))
		}
		if err := lock.WriteFile(lock.State(), data, f.opts.Mode); err != nil {
			return Explain(opSwap, key, path, "write the document", err)
		}
		return nil
	})
	if err != nil {
		return Absent, err
	}
	return next, nil
}

// Delete is explained at Store. It is durable as CompareAndSwap is.
func (f *Folder) Delete(ctx context.Context, key string, expected Version) error {
	path := f.Path(key)
	if err := f.begin(ctx, opDelete, key); err != nil {
		return err
	}
	return f.change(ctx, opDelete, key, expected, func(f *Folder, lock *lockfile.Lock) error {
		if expected == Absent {
			return Explain(opDelete, key, path, "read the document", ErrMissing)
		}
		// First how far it had come: a crash before the second step leaves the document.
		err := lock.WriteFile(f.deleted(key), encodeDeleted(min(expected+1, MaxVersion)),
			f.opts.Mode)
		if err == nil {
			err = lock.Commit(ctx, func() error { return os.Remove(lock.State()) })
		}
		if err != nil {
			return Explain(opDelete, key, path, "remove the document", err)
		}
		return nil
	})
}

// change runs fn with the lock of the document held, if the document has that version. fn is given
// the folder where the lock is: that of f may be a link, which may lead elsewhere by then.
func (f *Folder) change(ctx context.Context, op, key string, expected Version,
	fn func(*Folder, *lockfile.Lock) error) error {
	path := f.Path(key)
	compare := func(f *Folder) error {
		d, err := f.newest(op, key)
		if err == nil && d.Version != expected {
			err = conflict(op, key, path, expected, d.Version)
		}
		return err
	}
	if err := compare(f); err != nil { // who is late need not wait
		return err
	}
	done, err := turn.Take(ctx, turn.Key(path))
	if err != nil {
		return Explain(op, key, path, "wait for this process's own writers", refusal.Contended(err))
	}
	defer done()
	lock, err := lockfile.Acquire(ctx, path, f.opts.Lock)
	if err != nil {
		return Explain(op, key, path, "take the lock", err)
	}
	defer tenure.End(lock, f.opts.Lock.Logger)
	under := &Folder{dir: filepath.Dir(lock.State()), opts: f.opts}
	if err := compare(under); err != nil {
		return err
	}
	return fn(under, lock)
}

// deletedAt returns the version that a deletion of the document had, Absent where it never was.
func (f *Folder) deletedAt(op, key string) (Version, error) {
	path := f.deleted(key)
	data, err := wholefile.Read(path, f.opts.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return Absent, Explain(op, key, path, "read how far it had come", refusal.Cause(err))
	}
	version, err := decodeDeleted(data)
	if err != nil {
		return Absent, Explain(op, key, path, "decode how far it had come", err)
	}
	return version, nil
}

// Watch is explained at Store. Where the system does not tell of every change (filesystems that
// other machines write to, kqueue) the file is looked at every 2 seconds as well.
func (f *Folder) Watch(ctx context.Context, key string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		only := func(name string) bool { return name == key+docSuffix }
		w, err := watchdir.Watch(ctx, only, watchdir.DefaultPoll, f.dir)
		if err != nil {
			yield(Document{Key: key},
				Explain(opWatch, key, f.dir, "open the folder", refusal.Cause(err)))
			return
		}
		defer w.Close()
		defer cancel()
		var told Watched
		for w.Wait() {
			d, err := f.Load(ctx, key)
			if ctx.Err() != nil || !told.Tell(key, d, err, yield) {
				return
			}
		}
	}
}
