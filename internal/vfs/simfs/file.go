package simfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/probate-dev/probate/internal/vfs"
)

// file is a descriptor of a process.
type file struct {
	p    *Process
	path string
	desc *description // nil when closed
}

func (p *Process) newInode(mode fs.FileMode) *inode {
	return &inode{num: p.inode(), mode: mode.Perm(), uid: max(p.uid, 0), gid: max(p.uid, 0)}
}

// attach opens n as f.
func (p *Process) attach(f *file, n *inode, access vfs.Access, pathOnly bool) {
	p.disk.unhash(n)
	if pathOnly {
		n.pins++
	} else {
		n.opens++
	}
	p.disk.rehashMeta(n)
	f.desc = &description{id: p.handle(), node: n, access: access, pathOnly: pathOnly,
		refs: []reference{{p, 1}}}
	p.open = append(p.open, f)
}

// drop closes one reference of a process. The last one takes the kernel lock along.
func (d *Disk) drop(desc *description, p *Process) (last bool) {
	if desc.refer(p, -1); len(desc.refs) > 0 {
		return false
	}
	n := desc.node
	d.unhash(n)
	for i, l := range n.locks {
		if l == desc {
			n.locks[i] = nil
		}
	}
	if desc.pathOnly {
		n.pins--
	} else {
		n.opens--
	}
	d.rehashMeta(n)
	return true
}

func (f *file) on(verb string, op Op, fn func(op *Op, n *inode) error) error {
	op.Name = f.path
	err := f.p.doOn(op, f.desc, func(op *Op) error {
		if f.desc == nil {
			return os.ErrClosed
		}
		op.Inode = f.desc.node.num
		if f.desc.pathOnly && op.Kind != OpFstat && op.Kind != OpClose {
			return syscall.EBADF
		}
		return fn(op, f.desc.node)
	})
	if err != nil {
		return &fs.PathError{Op: verb, Path: f.path, Err: err}
	}
	return nil
}

func (f *file) ReadAt(b []byte, off int64) (count int, err error) {
	args := Args{Off: off, Size: len(b)}
	err = f.on("read", Op{Kind: OpRead, Args: args}, func(op *Op, n *inode) error {
		if off < 0 {
			return syscall.EINVAL
		}
		if off < int64(len(n.data)) {
			count = copy(b, n.data[off:])
		}
		op.Bytes = b[:count]
		op.sawBytes(op.Bytes, n, off)
		return nil
	})
	if err == nil && count < len(b) {
		err = io.EOF
	}
	return count, err
}

func (f *file) WriteAt(b []byte, off int64) (int, error) {
	if len(b) == 0 { // no call at all
		return 0, nil
	}
	args := Args{Off: off}
	err := f.on("write", Op{Kind: OpWrite, Data: b, Args: args}, func(op *Op, n *inode) error {
		if off < 0 {
			return syscall.EINVAL
		}
		if f.desc.access == vfs.Append { // Linux appends, whatever the offset
			off = int64(len(n.data))
		}
		return f.write(op, n, off)
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *file) Append(b []byte) (int, error) {
	if len(b) == 0 { // no call at all
		return 0, nil
	}
	err := f.on("append", Op{Kind: OpAppend, Data: b}, func(op *Op, n *inode) error {
		if f.desc.access != vfs.Append {
			return syscall.EBADF
		}
		return f.write(op, n, int64(len(n.data)))
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// maxSize keeps a test from filling the memory.
const maxSize = 64 << 20

func (f *file) write(op *Op, n *inode, off int64) error {
	if f.desc.access == vfs.Read {
		return syscall.EBADF
	}
	end := off + int64(len(op.Data))
	if end > maxSize {
		return syscall.EFBIG
	}
	d := f.p.disk
	d.unhash(n)
	if !d.opts.Uncut {
		n.pending = append(n.pending, write{off: off, data: slices.Clone(op.Data)})
	}
	n.data = overwrite(n.data, off, op.Data)
	d.rehash(n)
	op.Changed = true
	return nil
}

// overwrite returns a new slice: what others have read stays as it was.
func overwrite(old []byte, off int64, data []byte) []byte {
	b := make([]byte, max(int64(len(old)), off+int64(len(data))))
	copy(b, old)
	copy(b[off:], data)
	return b
}

func (f *file) Stat() (info vfs.Info, err error) {
	err = f.on("stat", Op{Kind: OpFstat}, func(op *Op, n *inode) error {
		info = f.p.disk.info(n)
		op.sawInfo(info)
		return nil
	})
	return info, err
}

func (f *file) Chmod(mode fs.FileMode) error {
	return f.on("chmod", Op{Kind: OpChmod, Args: Args{Mode: mode}}, func(op *Op, n *inode) error {
		if f.p.uid > 0 && f.p.uid != n.uid {
			return syscall.EPERM
		}
		f.p.disk.unhash(n)
		n.mode = mode.Perm()
		f.p.disk.rehashMeta(n)
		op.Changed = true
		return nil
	})
}

func (f *file) Chown(uid, gid int) error {
	op := Op{Kind: OpChown, Args: Args{UID: uid, GID: gid}}
	return f.on("chown", op, func(op *Op, n *inode) error {
		if f.p.uid > 0 && (uid >= 0 && uid != n.uid || f.p.uid != n.uid) {
			return syscall.EPERM
		}
		f.p.disk.unhash(n)
		if uid >= 0 {
			n.uid = uid
		}
		if gid >= 0 {
			n.gid = gid
		}
		f.p.disk.rehashMeta(n)
		op.Changed = true
		return nil
	})
}

func (f *file) Truncate(size int64) error {
	op := Op{Kind: OpTruncate, Args: Args{Off: size}}
	return f.on("truncate", op, func(op *Op, n *inode) error {
		switch {
		case size < 0 || f.desc.access == vfs.Read:
			return syscall.EINVAL
		case size > maxSize:
			return syscall.EFBIG
		}
		f.p.disk.unhash(n)
		if !f.p.disk.opts.Uncut {
			n.pending = append(n.pending, write{off: size, truncate: true})
		}
		n.data = resize(n.data, size)
		f.p.disk.rehash(n)
		op.Changed = true
		return nil
	})
}

func resize(old []byte, size int64) []byte {
	b := make([]byte, size)
	copy(b, old)
	return b
}

func (f *file) Sync() error {
	return f.on("flush", Op{Kind: OpSync, Private: true}, func(_ *Op, n *inode) error {
		n.durable, n.pending = n.data, nil
		return nil
	})
}

func lockIndex(kind vfs.LockKind) int {
	switch kind {
	case vfs.LockOFD:
		return 0
	case vfs.LockFlock:
		return 1
	}
	return -1
}

func (f *file) lock(op Op, kind vfs.LockKind, fn func(op *Op, n *inode, i int) error) error {
	op.Lock = kind
	return f.on("kernel-lock", op, func(op *Op, n *inode) error {
		i := lockIndex(kind)
		switch {
		case i < 0:
			return fmt.Errorf("no kernel lock of kind %q: %w", kind, errLocks)
		case f.p.disk.opts.NoLocks:
			return errLocks
		}
		return fn(op, n, i)
	})
}

func (f *file) Lock(kind vfs.LockKind) error {
	return f.lock(Op{Kind: OpLock}, kind, func(op *Op, n *inode, i int) error {
		switch {
		case kind == vfs.LockOFD && f.desc.access == vfs.Read:
			return fmt.Errorf("opened for reading only")
		case n.locks[i] == f.desc:
			return nil
		case n.locks[i] != nil:
			return vfs.ErrLocked
		}
		f.p.disk.unhash(n)
		n.locks[i] = f.desc
		f.p.disk.rehashMeta(n)
		op.Changed = true
		return nil
	})
}

func (f *file) Unlock(kind vfs.LockKind) error {
	return f.lock(Op{Kind: OpUnlock}, kind, func(op *Op, n *inode, i int) error {
		if n.locks[i] != f.desc {
			return nil
		}
		f.p.disk.unhash(n)
		n.locks[i] = nil
		f.p.disk.rehashMeta(n)
		op.Changed = true
		return nil
	})
}

func (f *file) Locked(kind vfs.LockKind) (locked bool, err error) {
	err = f.lock(Op{Kind: OpLocked}, kind, func(op *Op, n *inode, i int) error {
		locked = n.locks[i] != nil && n.locks[i] != f.desc
		op.sawBool(locked)
		return nil
	})
	return locked, err
}

func (f *file) Alone() (alone bool, err error) {
	err = f.on("look who else has open", Op{Kind: OpAlone}, func(op *Op, n *inode) error {
		if f.p.disk.opts.NoAlone {
			return lacking{syscall.EINVAL}
		}
		alone = n.opens == 1
		op.sawBool(alone)
		return nil
	})
	return alone, err
}

func (f *file) Handle() uintptr {
	f.p.disk.mu.Lock()
	defer f.p.disk.mu.Unlock()
	if f.desc == nil {
		return ^uintptr(0)
	}
	return uintptr(f.desc.id)
}

func (f *file) Close() error {
	return f.on("close", Op{Kind: OpClose}, func(op *Op, n *inode) error {
		d := f.p.disk
		before := n.locks
		last := d.drop(f.desc, f.p)
		op.Changed = last && (d.opts.OpensSeen || before != n.locks)
		f.desc = nil
		if i := slices.Index(f.p.open, f); i >= 0 {
			f.p.open = slices.Delete(f.p.open, i, i+1)
		}
		return nil
	})
}

func (p *Process) holders(handle uintptr) map[uint64]bool {
	var n *inode
	for _, f := range p.open {
		if f.desc != nil && uintptr(f.desc.id) == handle {
			n = f.desc.node
		}
	}
	found := map[uint64]bool{}
	if n == nil {
		return found
	}
	for _, other := range p.disk.procs {
		for _, f := range other.open {
			if f.desc == nil || f.desc.node != n || f.desc.pathOnly ||
				other == p && uintptr(f.desc.id) == handle {
				continue
			}
			found[other.id] = found[other.id] || n.locks[0] == f.desc || n.locks[1] == f.desc
		}
	}
	return found
}
