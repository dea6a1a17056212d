package simfs

import (
	"io/fs"
	"slices"

	"github.com/probate-dev/probate/internal/vfs"
)

// Args are what an operation was called with besides names and data. With them a copy of its
// process can make it again.
type Args struct {
	Dir    string // of an operation on a directory
	Handle uint64 // of one on an open file, 0 when that was closed
	Closed bool   // the directory was
	Access vfs.Access
	Lock   vfs.LockKind
	Mode   fs.FileMode
	Off    int64 // or the size of Truncate
	Size   int   // of the buffer that is read into
	UID    int
	GID    int
}

// Again makes an operation that Hooks saw, in this process or one of which this is a copy, which
// has done the same before. private says whether nobody notices it. Hooks see it, and what comes
// of it. Operations that failed before they began are not told to Hooks, and so not made again.
func (p *Process) Again(op *Op, private bool) {
	p.settled = &private
	defer func() { p.settled = nil }()
	d := &dir{p: p, at: op.Dir, dir: p.disk.dirs[op.Dir], closed: op.Closed}
	switch op.Kind {
	case OpOpenDir:
		_, _ = p.OpenDir(op.Name)
	case OpCloseDir:
		_ = d.Close()
	case OpSelf:
		_, _ = d.Self()
	case OpOpen:
		_, _ = d.Open(op.Name, op.Access)
	case OpPin:
		_, _ = d.Pin(op.Name)
	case OpCreate:
		_, _ = d.Create(op.Name, op.Mode)
	case OpCreateUnnamed:
		_, _ = d.CreateUnnamed(op.Mode)
	case OpLinkUnnamed:
		_ = d.LinkUnnamed(p.file(op), op.To)
	case OpLink:
		_ = d.Link(op.Name, op.To)
	case OpRenameNew:
		_ = d.RenameNoReplace(op.Name, op.To)
	case OpExchange:
		_ = d.Exchange(op.Name, op.To)
	case OpRename:
		_ = d.Rename(op.Name, op.To)
	case OpRemove:
		_ = d.Remove(op.Name)
	case OpStat:
		_, _ = d.Stat(op.Name)
	case OpNames:
		_, _ = d.Names()
	case OpSyncDir:
		_ = d.Sync()
	default:
		p.file(op).again(op)
	}
}

// file returns the file that an operation was about.
func (p *Process) file(op *Op) *file {
	for _, f := range p.open {
		if f.desc != nil && f.desc.id == op.Handle {
			return f
		}
	}
	return &file{p: p, path: op.Name}
}

// again makes an operation on an open file.
func (f *file) again(op *Op) {
	switch op.Kind {
	case OpRead:
		size := op.Size
		if f.desc != nil { // as much as there can be, of what may be a large buffer
			size = min(size, len(f.desc.node.data))
		}
		d := f.p.disk
		d.read = slices.Grow(d.read[:0], size)[:size]
		_, _ = f.ReadAt(d.read, op.Off)
	case OpWrite:
		_, _ = f.WriteAt(op.Data, op.Off)
	case OpAppend:
		_, _ = f.Append(op.Data)
	case OpFstat:
		_, _ = f.Stat()
	case OpChmod:
		_ = f.Chmod(op.Mode)
	case OpChown:
		_ = f.Chown(op.UID, op.GID)
	case OpTruncate:
		_ = f.Truncate(op.Off)
	case OpSync:
		_ = f.Sync()
	case OpLock:
		_ = f.Lock(op.Lock)
	case OpUnlock:
		_ = f.Unlock(op.Lock)
	case OpLocked:
		_, _ = f.Locked(op.Lock)
	case OpAlone:
		_, _ = f.Alone()
	case OpClose:
		_ = f.Close()
	default:
		panic("no such operation: " + string(op.Kind))
	}
}

// Unnoticed reports whether nobody else could notice an operation on an open file now: what
// Op.Private would be, where that depends on others.
func (p *Process) Unnoticed(op *Op) bool {
	f := p.file(op)
	return f.desc != nil && p.unnoticed(op.Kind, f.desc)
}
