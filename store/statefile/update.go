package statefile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/probate-dev/probate/internal/ended"
	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/refusal"
	"github.com/probate-dev/probate/store/internal/tenure"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

// Update replaces the value by what change makes of it, and returns that. change gets the newest
// value, or the zero T when there is no file yet, while nobody else can write. It is called at most
// once; what it returns as an error is returned as it is, and changes nothing.
//
// Update waits for other writers until ctx ends (ErrContended, and the cause of ctx). When ctx has
// ended after change returned, nothing is written. A value that is encoded as the file already is
// leaves the file, and its previous version, alone.
//
// Load inside change is fine, and sees the old value. Keep change short: every other writer waits.
func (f *File[T]) Update(ctx context.Context, change func(old T) (T, error)) (T, error) {
	return f.update(ctx, "update", true, change)
}

// TryUpdate is Update without any waiting: ErrContended at once.
func (f *File[T]) TryUpdate(change func(old T) (T, error)) (T, error) {
	return f.update(context.Background(), "update", false, change)
}

// Save replaces the value, whatever it is, and creates the file where there is none. It waits as
// Update does, and refuses, as Update does, to overwrite a file that cannot be decoded.
func (f *File[T]) Save(ctx context.Context, value T) error {
	_, err := f.update(ctx, "save", true, func(T) (T, error) { return value, nil })
	return err
}

func (f *File[T]) update(ctx context.Context, op string, wait bool,
	change func(T) (T, error)) (T, error) {
	var now T
	err := f.hold(ctx, op, wait, func(lock *lockfile.Lock) error {
		old, data, err := f.newest(op, lock)
		if err != nil {
			return err
		}
		changed, err := change(old)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &Error{Op: op, Path: f.path, Step: "write the new version",
				Err: ended.Cause(ctx), Next: "nothing was changed: try again, with more time"}
		}
		if err := f.write(op, lock, data, changed); err != nil {
			return err
		}
		now = changed
		return nil
	})
	return now, err
}

// hold runs fn with the lock held, and gives it back whatever happens.
func (f *File[T]) hold(ctx context.Context, op string, wait bool,
	fn func(*lockfile.Lock) error) error {
	if err := f.opts.validate(); err != nil {
		return &Error{Op: op, Path: f.path, Step: "check the options", Err: err,
			Next: "change the program"}
	}
	if ctx.Err() != nil {
		return &Error{Op: op, Path: f.path, Step: "begin", Err: ended.Cause(ctx),
			Next: "nothing was changed: try again, with more time"}
	}
	key := turn.Key(f.path)
	done, err := f.turn(ctx, key, wait)
	if errors.Is(err, ErrReentrant) {
		return f.refused(op, "take the lock", err)
	}
	if err != nil {
		return f.refused(op, "wait for this process's own writers", refusal.Contended(err))
	}
	defer done()
	var lock *lockfile.Lock
	if wait {
		lock, err = lockfile.Acquire(ctx, f.path, f.opts.Lock)
	} else {
		lock, err = lockfile.TryAcquire(f.path, f.opts.Lock)
	}
	if err != nil {
		return f.refused(op, "take the lock", err)
	}
	defer tenure.End(lock, f.opts.Lock.Logger)
	return fn(lock)
}

func (f *File[T]) turn(ctx context.Context, key string, wait bool) (func(), error) {
	if wait {
		return turn.Take(ctx, key)
	}
	return turn.Try(key)
}

// newest returns the value under the lock, and its bytes, which are nil when there is no file. It
// is that of the file that is locked, wherever the path leads by now.
func (f *File[T]) newest(op string, lock *lockfile.Lock) (value T, data []byte, err error) {
	data, err = wholefile.Read(lock.State(), f.opts.max())
	if errors.Is(err, fs.ErrNotExist) {
		return value, nil, nil
	}
	if err != nil {
		return value, nil, f.unread(op, f.path, err)
	}
	if value, err = f.codec.Decode(data); err != nil {
		var none T
		return none, nil, f.corrupt(op, err)
	}
	return value, data, nil
}

func (f *File[T]) write(op string, lock *lockfile.Lock, old []byte, value T) error {
	data, err := f.codec.Encode(value)
	if err == nil && int64(len(data)) > f.opts.max() {
		err = fmt.Errorf("%w: %d bytes, at most %d", wholefile.ErrTooLarge, len(data), f.opts.max())
	}
	if err == nil {
		if _, err = f.codec.Decode(data); err != nil {
			err = fmt.Errorf("it could not be decoded again: %w", err)
		}
	}
	if err != nil {
		return &Error{Op: op, Path: f.path, Step: "encode the new version", Err: err,
			Next: "nothing was changed: look at the value and the codec"}
	}
	switch {
	case old == nil:
		err = lock.WriteFile(lock.State(), data, f.opts.mode())
	case bytes.Equal(old, data):
		err = lock.Check()
	default:
		previous := filepath.Base(lock.State()) + previousSuffix
		err = lock.WriteFileKeeping(lock.State(), previous, data, f.opts.mode())
	}
	if err != nil {
		return f.refused(op, "write the new version", err)
	}
	return nil
}

// Restore puts the previous version in the place of a file that cannot be decoded, and returns it.
// The damaged file is kept beside it, as NAME.damaged-… with the beginning of its SHA-256. A file
// that can be decoded is left alone, and returned; one that is missing is restored. A previous
// version that is damaged too is ErrCorrupt, one that is missing matches fs.ErrNotExist: nothing
// was changed then.
func (f *File[T]) Restore(ctx context.Context) (T, error) {
	const op = "restore"
	var now T
	err := f.hold(ctx, op, true, func(lock *lockfile.Lock) error {
		value, data, err := f.newest(op, lock)
		if err == nil && data != nil {
			now = value
			return nil
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if now, err = f.previous(lock.State()); err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				err = e.Err
			} else {
				err = fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			return &Error{Op: op, Path: f.path, Err: err, Next: "restore it from a backup",
				Step: "read the previous version at " + f.Previous()}
		}
		if err := f.restore(op, lock); err != nil {
			var none T
			now = none
			return err
		}
		return nil
	})
	return now, err
}

func (f *File[T]) restore(op string, lock *lockfile.Lock) error {
	good, err := wholefile.Read(lock.State()+previousSuffix, f.opts.max())
	if err != nil {
		return f.unread(op, lock.State()+previousSuffix, err)
	}
	bad, err := wholefile.Read(lock.State(), f.opts.max())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = lock.WriteFile(lock.State(), good, f.opts.mode())
	case err != nil:
		return f.unread(op, f.path, err)
	default:
		sum := sha256.Sum256(bad)
		kept := filepath.Base(lock.State()) + damagedSuffix + "-" + hex.EncodeToString(sum[:8])
		err = lock.WriteFileKeeping(lock.State(), kept, good, f.opts.mode())
	}
	if err != nil {
		return f.refused(op, "write the previous version", err)
	}
	return nil
}
