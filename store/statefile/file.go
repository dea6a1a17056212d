package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

const (
	previousSuffix = ".previous"
	damagedSuffix  = ".damaged"
	defaultMode    = 0o600
	defaultMax     = 256 << 20
)

// Options say how to write. The zero value is right for most uses.
type Options struct {
	// Lock is how the lock is taken: its label, hooks, logger, durability and limits.
	Lock lockfile.Options
	// Mode is the permission of a new file, 0600 when zero. One that exists keeps its own, and its
	// owner where this process may give files away. Users who share a file, in a folder that all of
	// them may write to, need it in Mode and in Lock.Mode: 0660 for a group.
	Mode fs.FileMode
	// MaxBytes is how large a file may be to be read and written, 256 MiB when zero.
	MaxBytes int64
}

func (o Options) mode() fs.FileMode {
	if o.Mode == 0 {
		return defaultMode
	}
	return o.Mode
}

func (o Options) max() int64 {
	if o.MaxBytes == 0 {
		return defaultMax
	}
	return o.MaxBytes
}

func (o Options) validate() error {
	if o.Mode&^fs.ModePerm != 0 || o.Mode != 0 && o.Mode&0o600 != 0o600 {
		return fmt.Errorf("Options.Mode %#o must be permission bits with 0600 among them",
			uint32(o.Mode))
	}
	if o.MaxBytes < 0 {
		return fmt.Errorf("Options.MaxBytes %d is negative", o.MaxBytes)
	}
	return nil
}

// File is a value in a file. It keeps nothing open and nothing in memory: any number of them, in
// any number of processes, may stand for one file. Its methods are safe for concurrent use.
type File[T any] struct {
	path  string
	codec Codec[T]
	opts  Options
}

// Open returns the value of type T that is kept at path as JSON. Nothing is read or created: the
// file need not exist, its directory must when it is written. A path that is not absolute is looked
// up from the working directory of each call.
func Open[T any](path string, opts Options) *File[T] { return OpenWith[T](path, JSON[T]{}, opts) }

// OpenWith is Open with another codec.
func OpenWith[T any](path string, codec Codec[T], opts Options) *File[T] {
	return &File[T]{path: path, codec: codec, opts: opts}
}

// Path returns the path of the file as it was given.
func (f *File[T]) Path() string { return f.path }

// Previous returns the path at which the version before the newest is kept.
func (f *File[T]) Previous() string { return turn.Key(f.path) + previousSuffix }

// Load returns the value. It waits for nobody, and sees the whole of one version. A file that does
// not exist is an error that matches fs.ErrNotExist; one that cannot be decoded is ErrCorrupt.
func (f *File[T]) Load() (T, error) { return f.load("load") }

func (f *File[T]) load(op string) (T, error) {
	data, err := wholefile.Read(f.path, f.opts.max())
	if err != nil {
		var none T
		return none, f.unread(op, f.path, err)
	}
	value, err := f.codec.Decode(data)
	if err != nil {
		// An editor that writes in place may have been seen half-way.
		again, readErr := wholefile.Read(f.path, f.opts.max())
		if readErr == nil && !slices.Equal(again, data) {
			value, err = f.codec.Decode(again)
		}
	}
	if err != nil {
		var none T
		return none, f.corrupt(op, err)
	}
	return value, nil
}

// LoadPrevious returns the version before the newest, as Load does the newest.
func (f *File[T]) LoadPrevious() (T, error) {
	value, err := f.previous(turn.Key(f.path))
	if err != nil {
		var none T
		e, ok := errors.AsType[*Error](err)
		if !ok {
			err = &Error{Op: "load", Path: f.Previous(), Step: "decode the file",
				Err:  fmt.Errorf("%w: %w", ErrCorrupt, err),
				Next: "restore it from a backup"}
		} else if errors.Is(e, fs.ErrNotExist) {
			e.Next = "there is none before the second version"
		}
		return none, err
	}
	return value, nil
}

// previous reads the version before the one at path.
func (f *File[T]) previous(path string) (T, error) {
	var none T
	data, err := wholefile.Read(path+previousSuffix, f.opts.max())
	if err != nil {
		return none, f.unread("load", f.Previous(), err)
	}
	return f.codec.Decode(data)
}

// corrupt explains why the file cannot be decoded, and looks for a version that can.
func (f *File[T]) corrupt(op string, why error) error {
	e := &Error{Op: op, Path: f.path, Step: "decode the file",
		Err: fmt.Errorf("%w: %w", ErrCorrupt, why)}
	if _, err := f.previous(turn.Key(f.path)); err == nil {
		e.Previous = f.Previous()
		e.Next = "mend the file, or put the previous version back with Restore: " + e.Previous
	} else {
		e.Next = "mend the file, or move it away to begin anew; there is no previous version at " +
			filepath.Base(f.Previous())
	}
	return e
}
