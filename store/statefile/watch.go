package statefile

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"

	"github.com/probate-dev/probate/store/internal/refusal"
	"github.com/probate-dev/probate/store/internal/turn"
	"github.com/probate-dev/probate/store/internal/watchdir"
	"github.com/probate-dev/probate/store/internal/wholefile"
)

// Watch yields the value now, and again after every change, whoever made it, until ctx ends or the
// loop is left. Changes that come faster than the loop takes them are told as one: what is yielded
// is always a whole version that was newest a moment ago, and the last change is never missed.
//
// A file that is missing or cannot be read or decoded is yielded as the error of Load, once, and
// the watch goes on. It ends with an error only where the directory cannot be opened at first.
//
// Nothing runs beyond the loop. On filesystems that other machines write to, and where no watch can
// be had, the file is looked at every 2 seconds instead; with kqueue (macOS, BSD), as well.
func (f *File[T]) Watch(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w, err := watchdir.Watch(ctx, f.matters, watchdir.DefaultPoll, f.dirs()...)
		if err != nil {
			yield(none, f.watchFailed(err))
			return
		}
		defer w.Close()
		defer cancel()
		var last []byte
		told, failure := false, ""
		for w.Wait() {
			w.Also(f.dirs()...) // where a link leads by now
			data, err := wholefile.Read(f.path, f.opts.max())
			if err != nil {
				if err = f.unread("watch", f.path, err); told && failure == err.Error() {
					continue
				}
				last, told, failure = nil, true, err.Error()
				if !yield(none, err) {
					return
				}
				continue
			}
			if told && failure == "" && bytes.Equal(last, data) {
				continue
			}
			value, err := f.codec.Decode(data)
			if err != nil {
				err = f.corrupt("watch", err)
				value = none
				if told && failure == err.Error() && bytes.Equal(last, data) {
					continue
				}
			}
			last, told, failure = data, true, ""
			if err != nil {
				failure = err.Error()
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

// dirs are the directory of the path and, where that is a link, of the file that it names.
func (f *File[T]) dirs() []string {
	dirs := []string{filepath.Dir(f.path)}
	if real := filepath.Dir(turn.Key(f.path)); real != dirs[0] {
		dirs = append(dirs, real)
	}
	return dirs
}

// matters picks the file itself, and the link to it, among what happens in their directories.
func (f *File[T]) matters(name string) bool {
	return name == filepath.Base(f.path) || name == filepath.Base(turn.Key(f.path))
}

func (f *File[T]) watchFailed(err error) error {
	return &Error{Op: "watch", Path: f.path, Step: "open the directory",
		Err: refusal.Cause(err), Next: "create the directory first"}
}
