package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
)

// Recoverable yields every unfinished operation, with a verdict on the processes that worked on it:
// one that is gone can be taken with Claim. An error comes with a file or folder that cannot be
// read, or that is not the store's, and the walk goes on. It takes no lock and changes nothing.
func (f *Folder) Recoverable() iter.Seq2[Recovery, error] {
	return func(yield func(Recovery, error) bool) {
		f.walk(func(v *view) bool {
			return v.slots(func(at located, err error) bool {
				if err != nil {
					return yield(Recovery{}, err)
				}
				if f.phases.terminal(at.op.Phase) {
					return true
				}
				return yield(recovery(at.operation(), f.judge), nil)
			})
		}, func(err error) { yield(Recovery{}, err) })
	}
}

// All yields every operation that is not archived, each once, also beside an archiving: one that is
// put away meanwhile may be among them or not. Errors are as for Recoverable.
func (f *Folder) All() iter.Seq2[Operation, error] { return f.list(true, dirFinished) }

// Archived yields every operation that ArchiveFinished has put away.
func (f *Folder) Archived() iter.Seq2[Operation, error] { return f.list(false, dirArchive) }

func (f *Folder) list(slots bool, dir string) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		f.walk(func(v *view) bool {
			seen := map[string]bool{}
			each := func(at located, err error) bool {
				if err != nil {
					return yield(Operation{}, err)
				}
				if seen[at.op.ID] { // it has moved on since
					return true
				}
				if at.dir == "" {
					seen[at.op.ID] = true
				}
				return yield(at.operation(), nil)
			}
			return (!slots || v.slots(each)) && v.moved(dir, each)
		}, func(err error) { yield(Operation{}, err) })
	}
}

func (f *Folder) walk(fn func(v *view) bool, failed func(error)) {
	v, err := f.look("list")
	if err != nil {
		failed(err)
		return
	}
	defer v.close()
	fn(v)
}

// slots goes through the environments. Those in whose file nothing has begun are left out.
func (v *view) slots(each func(located, error) bool) bool {
	names, err := v.names(".")
	if err != nil {
		return each(located{}, err)
	}
	files := map[string]bool{}
	for _, name := range names {
		if s, ok := stem(name, suffix); ok {
			files[s+suffix] = true
		} else if s, ok := stem(name, suffixBefore); ok {
			files[s+suffix] = true
		} else if !slices.Contains(folders, name) && !strings.HasPrefix(name, lockState+".") {
			if !each(located{}, v.failed("look at the file", name, "", ErrForeign)) {
				return false
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		s, err := v.slot(file)
		if err != nil {
			if !each(located{}, err) {
				return false
			}
			continue
		}
		if s.op != nil && s.op.Next != nil && !each(located{file: file, op: s.op, slot: &s}, nil) {
			return false
		}
		if at, ok := s.current(); ok && !each(at, nil) {
			return false
		}
	}
	return true
}

// moved goes through the operations in finished or archive.
func (v *view) moved(dir string, each func(located, error) bool) bool {
	names, err := v.names(dir)
	if err != nil {
		return each(located{}, err)
	}
	for _, name := range names {
		file := dir + "/" + name
		at, err := v.movedFile(dir, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has moved on since
		}
		if !each(at, err) {
			return false
		}
	}
	return true
}

func (v *view) movedFile(dir, file string) (located, error) {
	if _, ok := stem(path.Base(file), suffix); !ok {
		return located{}, v.failed("look at the file", file, "", ErrForeign)
	}
	op, err := v.readOperation(file, func(op *stored) error {
		if operationFile(dir, op.ID) != file {
			return fmt.Errorf("%w: it is operation %q", ErrForeign, op.ID)
		}
		return nil
	})
	if err != nil {
		return located{}, v.failed("read the operation", file, "", err)
	}
	return located{file: file, op: op, dir: dir}, nil
}

// names lists a folder, in the order of the names. One that does not exist is empty: the first
// change makes it.
func (v *view) names(dir string) ([]string, error) {
	d, err := v.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	if err == nil {
		defer d.Close()
		names, err = d.Readdirnames(-1)
	}
	if err != nil {
		return nil, v.failed("list the folder", dir, "", err)
	}
	slices.Sort(names)
	return names, nil
}
