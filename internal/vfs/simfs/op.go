package simfs

import (
	"hash/maphash"
	"io/fs"

	"github.com/probate-dev/probate/internal/vfs"
)

// Kind names an operation.
type Kind string

// The operations, by what they do.
const (
	OpOpenDir       Kind = "open-directory"
	OpCloseDir      Kind = "close-directory"
	OpSelf          Kind = "look-at-directory"
	OpOpen          Kind = "open"
	OpPin           Kind = "pin"
	OpCreate        Kind = "create"
	OpCreateUnnamed Kind = "create-unnamed"
	OpLinkUnnamed   Kind = "link-unnamed"
	OpLink          Kind = "link"
	OpRenameNew     Kind = "rename-without-replacing"
	OpExchange      Kind = "exchange"
	OpRename        Kind = "rename"
	OpRemove        Kind = "remove"
	OpStat          Kind = "look-at"
	OpNames         Kind = "list"
	OpSyncDir       Kind = "flush-directory"
	OpRead          Kind = "read"
	OpWrite         Kind = "write"
	OpAppend        Kind = "append"
	OpFstat         Kind = "look-at-open"
	OpChmod         Kind = "chmod"
	OpChown         Kind = "chown"
	OpTruncate      Kind = "truncate"
	OpSync          Kind = "flush"
	OpLock          Kind = "lock"
	OpUnlock        Kind = "unlock"
	OpLocked        Kind = "test-lock"
	OpAlone         Kind = "look-who-has-it-open"
	OpClose         Kind = "close"
)

// Op is one operation. Hooks must not keep it.
type Op struct {
	Kind Kind
	Name string // the file, or the directory; the name it had when it was opened
	To   string // second name
	Data []byte // what is written
	// Short is for hooks that fail a write: so many bytes are written before.
	Short int
	Args

	// After the operation:

	Err     error
	Seen    uint64 // of what the process learnt
	Changed bool   // something that another process can see is different now
	Inode   uint64 // of the file that it was about, 0 when there is none
	Touched Touch  // where Options.Touches is set
	Bytes   []byte // what was read
	Said    bool   // what a question was answered
	// Private is also set before: nobody else can notice the operation, nor does it depend on what
	// others do.
	Private bool
	// Depends says, also before, that Private is so only as others have the file open now.
	Depends bool
}

// Hooks are called around every operation of a process, by its goroutine. An error of Before is
// what the operation fails with; nothing is done then.
type Hooks interface {
	Before(*Op) error
	After(*Op)
}

// do runs one operation between the hooks.
func (p *Process) do(op Op, fn func(op *Op) error) error {
	return p.doOn(op, nil, fn)
}

// doOn is do for an operation on an open file.
func (p *Process) doOn(op Op, desc *description, fn func(op *Op) error) error {
	if p.hooks == nil {
		p.disk.mu.Lock()
		defer p.disk.mu.Unlock()
		return fn(&op)
	}
	o := &p.disk.again
	if p.settled == nil {
		o = new(Op)
	}
	*o = op
	if desc != nil {
		o.Handle = desc.id
		o.Depends = !o.Private
	}
	switch {
	case p.settled != nil:
		o.Private = *p.settled
	case o.Depends:
		p.disk.mu.Lock()
		o.Private = p.unnoticed(o.Kind, desc)
		p.disk.mu.Unlock()
	}
	if err := p.hooks.Before(o); err != nil {
		if o.Short > 0 && (o.Kind == OpWrite || o.Kind == OpAppend) {
			p.disk.mu.Lock()
			short := *o
			short.Data = o.Data[:min(o.Short, len(o.Data))]
			_ = fn(&short)
			o.Changed = short.Changed
			p.disk.mu.Unlock()
		}
		o.Err = err
		p.hooks.After(o)
		return err
	}
	p.disk.mu.Lock()
	if p.disk.opts.Touches {
		p.touching(o, desc, fn)
	} else {
		o.Err = fn(o)
	}
	p.disk.mu.Unlock()
	p.hooks.After(o)
	return o.Err
}

// unnoticed reports whether nobody else can notice an operation on an open file.
func (p *Process) unnoticed(kind Kind, desc *description) bool {
	return p.owns(desc) || kind == OpClose && p.quiet(desc)
}

// owns reports whether a file has no name and nobody else has it open.
func (p *Process) owns(desc *description) bool {
	n := desc.node
	return n.links == 0 && n.opens+n.pins <= 1 && len(desc.refs) <= 1
}

// quiet reports whether closing is noticed by nobody.
func (p *Process) quiet(desc *description) bool {
	n := desc.node
	return !p.disk.opts.OpensSeen && n.locks[0] != desc && n.locks[1] != desc && n.links > 0
}

var seed = maphash.MakeSeed()

// Sum mixes text into a running hash.
func Sum(h uint64, text string) uint64 { return Mix(h, maphash.String(seed, text)) }

// Mix mixes a number into a running hash.
func Mix(h, n uint64) uint64 {
	h ^= n + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

func (n *inode) sum() uint64 {
	h := Mix(n.num, n.dataHash)
	h = Mix(h, uint64(n.mode)<<32|uint64(uint32(n.uid)))
	h = Mix(h, uint64(n.links))
	for _, l := range n.locks {
		if l == nil {
			h = Mix(h, 0)
		} else {
			h = Mix(h, l.id)
		}
	}
	return h
}

// unhash and rehash stand around every change of an inode.
func (d *Disk) unhash(n *inode) {
	if n.links > 0 || n.opens > 0 {
		d.hash ^= n.sum()
	}
}

func (d *Disk) rehash(n *inode) {
	n.dataHash = maphash.Bytes(seed, n.data)
	d.rehashMeta(n)
}

func (d *Disk) rehashMeta(n *inode) {
	if n.links > 0 || n.opens > 0 {
		d.hash ^= n.sum()
	}
}

func entrySum(dir *directory, name string, n *inode) uint64 {
	return Mix(Sum(dir.num, name), n.num)
}

func (d *Disk) info(n *inode) vfs.Info {
	return vfs.Info{Device: d.device, Inode: n.num, Mode: n.mode, Size: int64(len(n.data)),
		Links: uint64(n.links), UID: n.uid, GID: n.gid, ModTime: modified}
}

func (op *Op) sawInfo(i vfs.Info) {
	op.Inode = i.Inode
	op.Seen = Mix(Mix(Mix(Mix(op.Seen, i.Inode), uint64(i.Size)), i.Links), uint64(i.Mode))
}

// sawBytes notes that the first of n were read from off on.
func (op *Op) sawBytes(b []byte, n *inode, off int64) {
	sum := n.dataHash
	if off != 0 || len(b) != len(n.data) || len(b) == 0 {
		sum = maphash.Bytes(seed, b)
	}
	op.Seen = Mix(op.Seen, sum)
}

func (op *Op) sawBool(b bool) {
	op.Said = b
	op.Seen = Mix(op.Seen, 1)
	if b {
		op.Seen = Mix(op.Seen, 2)
	}
}

// may reports whether a process has rights to a file. Root has all.
func (p *Process) may(mode fs.FileMode, uid int, want fs.FileMode) bool {
	if p.uid <= 0 {
		return true
	}
	if uid == p.uid {
		return mode>>6&want == want
	}
	return mode&want == want
}
