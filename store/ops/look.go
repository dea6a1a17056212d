package ops

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// view is one look at the folder. Looking takes no lock and changes nothing: files are only ever
// replaced whole, and an operation moves in one direction, from its environment's file to finished
// and on to archive, in which a reader follows it.
type view struct {
	f    *Folder
	op   string // for errors
	root *os.Root
}

// patiently does something with a file again while another program is in the way.
func patiently(fn func() error) error {
	const tries = 50
	for n := 1; ; n++ {
		if err := fn(); err == nil || n == tries || !again(err) {
			return err
		}
	}
}

// read returns the content of a file, which must be a regular one: no link is followed, and nothing
// is waited for at a FIFO.
func (v *view) read(name string) (data []byte, err error) {
	err = patiently(func() error {
		data, err = v.readOnce(name)
		return err
	})
	return data, err
}

func (v *view) readOnce(name string) ([]byte, error) {
	info, err := v.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is %s", ErrForeign, describe(info.Mode()))
	}
	file, err := v.root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err == nil && len(data) > MaxBytes {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrForeign, MaxBytes)
	}
	return data, err
}

func describe(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	}
	return "no regular file"
}

// readOperation reads an operation's file. is says why what is in it does not belong there.
func (v *view) readOperation(name string, is func(*stored) error) (*stored, error) {
	data, err := v.read(name)
	if err != nil {
		return nil, err
	}
	s, err := decodeOperation(data)
	if err == nil {
		err = is(s)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// slot is what the two files of an environment say: the newest version of the operation that began
// there last, and the version before it.
type slot struct {
	file     string  // of the newest version
	op       *stored // nil: no operation has begun here
	restored string  // why op comes from the previous version, or ""
	damaged  bool    // there is something at file, and it cannot be read
}

const looks = 3 // a look that meets a writer half-way is taken again, so many times

// slot reads the two files of an environment, by the name of the newest version.
func (v *view) slot(file string) (slot, error) {
	for n := 1; ; n++ {
		s, err := v.slotOnce(file)
		if err != nil || s.restored == "" || n == looks {
			return s, err
		}
	}
}

func (v *view) slotOnce(file string) (slot, error) {
	s := slot{file: file}
	belongs := func(op *stored) error {
		if slotFile(op.Environment) != file {
			return fmt.Errorf("%w: it belongs to environment %q", ErrForeign, op.Environment)
		}
		return nil
	}
	var why error
	s.op, why = v.readOperation(file, belongs)
	switch {
	case why == nil:
		return s, nil
	case errors.Is(why, fs.ErrNotExist):
	case errors.Is(why, ErrDamaged):
		s.damaged = true
	default: // not read, newer, or somebody else's: the version before it says nothing about that
		return s, v.failed("read the operation", file, "", why)
	}
	op, err := v.readOperation(before(file), belongs)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && s.damaged:
		return s, v.failed("read the operation, which has no previous copy", file, "", why)
	case errors.Is(err, fs.ErrNotExist):
		s.op = nil
		return s, nil
	case s.damaged:
		return s, v.failed("read the operation", file, "",
			fmt.Errorf("%w; and its previous copy: %w", why, err))
	default:
		return s, v.failed("read the previous copy of the operation, whose newest is missing",
			before(file), "", err)
	}
	if s.damaged {
		s.restored = fmt.Sprintf("the newest version cannot be read (%v)", why)
	} else {
		s.restored = "the newest version is missing"
	}
	for _, dir := range []string{dirFinished, dirArchive} {
		if _, err := v.root.Lstat(operationFile(dir, op.ID)); err == nil {
			// What is left here is what was before it moved on.
			if s.op, s.restored = nil, ""; s.damaged {
				return s, v.failed("read the operation, which has no previous copy", file, "", why)
			}
			return s, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return s, v.failed("look for the operation", operationFile(dir, op.ID), op.ID, err)
		}
	}
	s.op = op
	return s, nil
}

// located is an operation and where it was found.
type located struct {
	file string
	op   *stored
	slot *slot  // its environment's; nil when it has left that
	dir  string // dirFinished or dirArchive when it has
	next bool   // it stands in the file of the one that it follows up
}

// operation returns what the caller sees.
func (l located) operation() Operation {
	op := copyOf(l.op.Operation)
	op.Archived = l.dir == dirArchive
	if l.slot != nil && !l.next {
		op.Restored = l.slot.restored
	}
	return op
}

// current returns the operation that counts in the slot: the one that has its file, or the
// follow-up that has none yet.
func (s *slot) current() (located, bool) {
	switch {
	case s.op == nil:
		return located{}, false
	case s.op.Next != nil:
		return located{file: s.file, op: &stored{Operation: *s.op.Next}, slot: s, next: true}, true
	}
	return located{file: s.file, op: s.op, slot: s}, true
}

// request reads what was asked for under a request id. ErrNotFound: nothing.
func (v *view) request(id string) (request, error) {
	name := requestFile(id)
	data, err := v.read(name)
	if err == nil {
		var r request
		if r, err = decodeFile[request](kindRequest, data); err == nil {
			if r.ID == id {
				return r, nil
			}
			err = fmt.Errorf("%w: it is about %q", ErrForeign, r.ID)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return request{}, ErrNotFound
	}
	return request{}, v.failed("read the request", name, id, err)
}

// find looks for an operation, of that environment where its request is not on disk. ErrNotFound is
// returned as it is.
func (v *view) find(id, environment string) (located, error) {
	r, unread := v.request(id)
	if unread == nil {
		environment = r.Environment
	}
	for n := 1; ; n++ {
		l, err := v.findIn(id, environment)
		if err != ErrNotFound {
			return l, err
		}
		if unread != nil || n == looks {
			break
		}
	}
	if unread != nil {
		return located{}, unread
	}
	return located{}, ErrNotFound
}

func (v *view) findIn(id, environment string) (located, error) {
	var s slot
	var damage error
	if environment != "" {
		s, damage = v.slot(slotFile(environment))
	}
	if s.op != nil {
		if s.op.ID == id {
			return located{file: s.file, op: s.op, slot: &s}, nil
		}
		if l, ok := s.current(); ok && l.op.ID == id {
			return l, nil
		}
	}
	for _, dir := range []string{dirFinished, dirArchive} {
		name := operationFile(dir, id)
		op, err := v.readOperation(name, func(op *stored) error {
			if op.ID != id {
				return fmt.Errorf("%w: it is operation %q", ErrForeign, op.ID)
			}
			return nil
		})
		if err == nil {
			return located{file: name, op: op, dir: dir}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return located{}, v.failed("read the operation", name, id, err)
		}
	}
	if damage != nil { // it may be the one in there
		return located{}, damage
	}
	return located{}, ErrNotFound
}
