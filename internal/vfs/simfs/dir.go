package simfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// modified is when everything was modified: times are no evidence, and a simulation has none.
var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// dir is an open directory of a process.
type dir struct {
	p      *Process
	at     string
	dir    *directory
	id     uint64
	closed bool
}

func (d *dir) Path() string { return d.at }

func (d *dir) Handle() uintptr {
	if d.closed {
		return ^uintptr(0)
	}
	return uintptr(d.id)
}

func (d *dir) path(name string) string { return d.at + "/" + name }

// on runs an operation on one name.
func (d *dir) on(verb string, op Op, fn func(op *Op) error) error {
	err := element(op.Name)
	if err == nil {
		op.Dir, op.Closed = d.at, d.closed
		err = d.p.do(op, d.open(fn))
	}
	if err != nil {
		return &fs.PathError{Op: verb, Path: d.path(op.Name), Err: err}
	}
	return nil
}

// on2 runs an operation on two names, which changes the directory.
func (d *dir) on2(verb string, op Op, fn func(op *Op) error) error {
	err := element(op.Name)
	if err == nil {
		err = element(op.To)
	}
	if err == nil {
		op.Dir, op.Closed = d.at, d.closed
		err = d.p.do(op, d.open(func(op *Op) error {
			if !d.p.may(d.dir.mode, d.dir.uid, 0o3) {
				return syscall.EACCES
			}
			return fn(op)
		}))
	}
	if err != nil {
		return &os.LinkError{Op: verb, Old: d.path(op.Name), New: d.path(op.To), Err: err}
	}
	return nil
}

// op is an operation on the directory itself.
func (d *dir) op(kind Kind, private bool) Op {
	return Op{Kind: kind, Name: d.at, Private: private, Args: Args{Dir: d.at, Closed: d.closed}}
}

// open refuses what was begun after the directory was closed, as a descriptor in use stays open.
func (d *dir) open(fn func(op *Op) error) func(op *Op) error {
	return func(op *Op) error {
		if op.Closed {
			return os.ErrClosed
		}
		return fn(op)
	}
}

func (d *dir) Open(name string, access vfs.Access) (vfs.File, error) {
	f := &file{p: d.p, path: d.path(name)}
	op := Op{Kind: OpOpen, Name: name, Args: Args{Access: access}}
	err := d.on("open", op, func(op *Op) error {
		n := d.dir.names[name]
		if n == nil {
			return syscall.ENOENT
		}
		op.Inode = n.num
		op.Seen = n.num
		want := fs.FileMode(0o4)
		if access != vfs.Read {
			want = 0o6
		}
		if !d.p.may(n.mode, n.uid, want) {
			return syscall.EACCES
		}
		op.Changed = d.p.disk.opts.OpensSeen
		d.p.attach(f, n, access, false)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *dir) Pin(name string) (vfs.File, error) {
	f := &file{p: d.p, path: d.path(name)}
	err := d.on("pin", Op{Kind: OpPin, Name: name}, func(op *Op) error {
		n := d.dir.names[name]
		if n == nil {
			return syscall.ENOENT
		}
		op.Inode, op.Seen = n.num, n.num
		d.p.attach(f, n, vfs.Read, true)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *dir) Create(name string, mode fs.FileMode) (vfs.File, error) {
	f := &file{p: d.p, path: d.path(name)}
	op := Op{Kind: OpCreate, Name: name, Args: Args{Mode: mode}}
	err := d.on("create", op, func(op *Op) error {
		if d.dir.names[name] != nil {
			return syscall.EEXIST
		}
		if !d.p.may(d.dir.mode, d.dir.uid, 0o3) {
			return syscall.EACCES
		}
		n := d.p.newInode(mode)
		op.Inode, op.Changed = n.num, true
		d.p.disk.bind(d.dir, name, n)
		d.p.attach(f, n, vfs.ReadWrite, false)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *dir) CreateUnnamed(mode fs.FileMode) (vfs.File, error) {
	f := &file{p: d.p, path: d.path("(unnamed)")}
	op := Op{Kind: OpCreateUnnamed, Name: "(unnamed)", Private: true,
		Args: Args{Dir: d.at, Closed: d.closed, Mode: mode}}
	err := d.p.do(op, d.open(func(op *Op) error {
		if d.p.disk.opts.NoUnnamed {
			return lacking{syscall.EOPNOTSUPP}
		}
		n := d.p.newInode(mode)
		op.Inode = n.num
		d.p.attach(f, n, vfs.ReadWrite, false)
		return nil
	}))
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: f.path, Err: err}
	}
	return f, nil
}

func (d *dir) LinkUnnamed(unnamed vfs.File, name string) error {
	f, ok := unnamed.(*file)
	if !ok {
		return &os.LinkError{Op: "link", Old: "(unnamed)", New: d.path(name), Err: fs.ErrInvalid}
	}
	op := Op{Kind: OpLinkUnnamed, Name: "(unnamed)", To: name}
	if f.desc != nil {
		op.Handle = f.desc.id
	}
	return d.on2("link", op, func(op *Op) error {
		if f.desc == nil {
			return os.ErrClosed
		}
		op.Inode = f.desc.node.num
		switch {
		case d.dir.names[name] != nil:
			return syscall.EEXIST
		case d.p.disk.opts.NoLink:
			return lacking{syscall.EPERM}
		case f.desc.node.named && f.desc.node.links == 0:
			return syscall.ENOENT // a file whose last name was removed cannot be named again
		}
		return d.link(op, f.desc.node, name)
	})
}

func (d *dir) link(op *Op, n *inode, name string) error {
	op.Changed = true
	d.p.disk.bind(d.dir, name, n)
	return nil
}

func (d *dir) Link(old, name string) error {
	return d.on2("link", Op{Kind: OpLink, Name: old, To: name}, func(op *Op) error {
		n := d.dir.names[old]
		switch {
		case n == nil:
			return syscall.ENOENT
		case d.dir.names[name] != nil: // the kernel looks at names before it asks the file system
			return syscall.EEXIST
		case d.p.disk.opts.NoLink:
			return lacking{syscall.EPERM}
		}
		op.Inode = n.num
		return d.link(op, n, name)
	})
}

func (d *dir) RenameNoReplace(old, name string) error {
	op := Op{Kind: OpRenameNew, Name: old, To: name}
	return d.on2("rename without replacing", op, func(op *Op) error {
		n := d.dir.names[old]
		switch {
		case n == nil:
			return syscall.ENOENT
		case d.dir.names[name] != nil:
			return syscall.EEXIST
		case d.p.disk.opts.NoRenameNoReplace:
			return lacking{syscall.EINVAL}
		}
		op.Inode, op.Changed = n.num, true
		d.p.disk.move(d.dir, old, name, n)
		return nil
	})
}

func (d *dir) Exchange(a, b string) error {
	return d.on2("exchange", Op{Kind: OpExchange, Name: a, To: b}, func(op *Op) error {
		x, y := d.dir.names[a], d.dir.names[b]
		switch {
		case x == nil || y == nil:
			return syscall.ENOENT
		case d.p.disk.opts.NoExchange:
			return lacking{syscall.EINVAL}
		}
		op.Inode, op.Changed = x.num, true
		d.p.disk.exchange(d.dir, a, b, x, y)
		return nil
	})
}

// TakeOut is a call that this system, which is a Unix, does not have.
func (d *dir) TakeOut(name, _ string, _ func(vfs.File) (bool, error)) (bool, error) {
	return false, &fs.PathError{Op: "take out", Path: d.path(name), Err: errors.ErrUnsupported}
}

func (d *dir) Rename(old, name string) error {
	return d.on2("rename", Op{Kind: OpRename, Name: old, To: name}, func(op *Op) error {
		n, replaced := d.dir.names[old], d.dir.names[name]
		if n == nil {
			return syscall.ENOENT
		}
		op.Inode = n.num
		if n == replaced { // two names of one file: nothing is done, says POSIX
			return nil
		}
		op.Changed = true
		d.p.disk.move(d.dir, old, name, n)
		return nil
	})
}

func (d *dir) Remove(name string) error {
	return d.on("remove", Op{Kind: OpRemove, Name: name}, func(op *Op) error {
		n := d.dir.names[name]
		if n == nil {
			return syscall.ENOENT
		}
		if !d.p.may(d.dir.mode, d.dir.uid, 0o3) {
			return syscall.EACCES
		}
		op.Inode, op.Changed = n.num, true
		d.p.disk.unbind(d.dir, name)
		return nil
	})
}

func (d *dir) Self() (info vfs.Info, err error) {
	err = d.p.do(d.op(OpSelf, true), d.open(func(*Op) error {
		info = vfs.Info{Device: d.p.disk.device, Inode: d.dir.num, Mode: d.dir.mode | fs.ModeDir,
			Links: 2, UID: d.dir.uid, GID: d.dir.uid, ModTime: modified}
		return nil
	}))
	if err != nil {
		return vfs.Info{}, &fs.PathError{Op: "stat", Path: d.at, Err: err}
	}
	return info, nil
}

func (d *dir) Stat(name string) (info vfs.Info, err error) {
	err = d.on("stat", Op{Kind: OpStat, Name: name}, func(op *Op) error {
		n := d.dir.names[name]
		if n == nil {
			return syscall.ENOENT
		}
		info = d.p.disk.info(n)
		op.sawInfo(info)
		return nil
	})
	return info, err
}

func (d *dir) Names() (names []string, err error) {
	err = d.p.do(d.op(OpNames, false), d.open(func(op *Op) error {
		if !d.p.may(d.dir.mode, d.dir.uid, 0o4) {
			return syscall.EACCES
		}
		names = d.dir.sorted()
		for _, name := range names {
			op.Seen = Sum(op.Seen, name)
		}
		return nil
	}))
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: d.at, Err: err}
	}
	return names, nil
}

func (d *dir) Sync() error {
	err := d.p.do(d.op(OpSyncDir, true), d.open(func(*Op) error {
		d.p.disk.flush(d.dir)
		return nil
	}))
	if err != nil {
		return &fs.PathError{Op: "flush", Path: d.at, Err: err}
	}
	return nil
}

func (d *dir) Close() error {
	err := d.p.do(d.op(OpCloseDir, true), d.open(func(*Op) error {
		d.closed = true
		return nil
	}))
	if err != nil {
		return &fs.PathError{Op: "close", Path: d.at, Err: err}
	}
	return nil
}

func (d *dir) String() string { return fmt.Sprintf("directory %s of process %d", d.at, d.p.id) }
