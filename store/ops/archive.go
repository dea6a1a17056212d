package ops

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/probate-dev/probate/internal/ended"
)

// ArchiveFinished puts the finished operations of these environments away, of all when none is
// named, and returns how many. All does not yield them any more; Get and Begin know them as before.
// It is refused, with ErrBusy, and nothing is changed, while one of the environments has an
// unfinished operation. A file that cannot be read stays where it is; the error names it, and the
// others are put away all the same. Changes wait until it is done.
func (f *Folder) ArchiveFinished(ctx context.Context, environments ...string) (int, error) {
	n := 0
	err := f.locked(ctx, "archive", func(w *writer) error {
		wanted := func(op *stored) bool {
			return len(environments) == 0 || slices.Contains(environments, op.Environment)
		}
		var put []located
		var busy, odd error
		w.slots(func(at located, err error) bool {
			switch {
			case err != nil:
				odd = errors.Join(odd, err)
			case !wanted(at.op) || at.op.Next != nil:
			case !f.phases.terminal(at.op.Phase):
				busy = w.refused("look at the environment", at, "finish that operation first",
					ErrBusy)
			default:
				put = append(put, at)
			}
			return busy == nil
		})
		if busy != nil {
			return busy
		}
		w.moved(dirFinished, func(at located, err error) bool {
			if err != nil {
				odd = errors.Join(odd, err)
			} else if wanted(at.op) {
				put = append(put, at)
			}
			return true
		})
		err := w.sweep()
		for batch := range slices.Chunk(put, 64) { // a commit keeps others waiting
			if err == nil {
				err = ended.Cause(ctx)
			}
			if err == nil {
				if err = w.putAway(batch); err == nil {
					n += len(batch)
				}
			}
		}
		return errors.Join(err, odd)
	})
	return n, err
}

func (w *writer) putAway(batch []located) error {
	from := make([]string, len(batch))
	for i, at := range batch {
		from[i] = at.file
		if at.slot == nil || at.slot.restored == "" {
			continue
		}
		data, err := encodeFile(kindOperation, *at.op)
		if err != nil {
			return w.failed("write the operation", at.file, at.op.ID, err)
		}
		if from[i], err = w.temp(data, at.op.ID); err != nil {
			return err
		}
	}
	return w.commit("", func() error {
		for i, at := range batch {
			if err := w.putAwayOne(at, from[i]); err != nil {
				return err
			}
		}
		return nil
	}, dirArchive, dirFinished)
}

func (w *writer) putAwayOne(at located, from string) error {
	to := operationFile(dirArchive, at.op.ID)
	remove := func(name string) error {
		err := w.step("remove " + name)
		if err == nil {
			err = patiently(func() error { return w.root.Remove(name) })
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return w.failed("remove the previous copy", name, at.op.ID, err)
		}
		return nil
	}
	if at.slot == nil {
		return w.move(from, to, at.op.ID)
	}
	if at.slot.restored == "" { // without its newest, the previous version would be taken for it
		if err := remove(before(at.file)); err != nil {
			return err
		}
		return w.move(from, to, at.op.ID)
	}
	if err := w.move(from, to, at.op.ID); err != nil {
		return err
	}
	if at.slot.damaged {
		if err := w.move(at.file, dirDamaged+"/"+path.Base(at.file), at.op.ID); err != nil {
			return err
		}
	}
	return remove(before(at.file))
}
