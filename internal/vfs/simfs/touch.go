package simfs

// Touch is what an operation, or several, looked at and changed on a disk. Each bit stands for a
// few things of one sort, so two that touch nothing in common may still seem to: never the other
// way round.
type Touch struct{ Reads, Writes uint64 }

// Bits of a Touch. The lowest four are for things that are not on the disk, as a caller defines
// them; the first of these for what is only counted.
const (
	TouchCount = 1

	touchOwn     = 4
	touchEntries = 16 // what a name stands for
	touchFiles   = 16 // content, names and rights of a file
	touchLocks   = 14 // kernel locks of a file
	touchOpeners = 14 // who has a file open

	firstEntry  = touchOwn
	firstFile   = firstEntry + touchEntries
	firstLock   = firstFile + touchFiles
	firstOpener = firstLock + touchLocks

	everyEntry = (1<<touchEntries - 1) << firstEntry

	// EveryLock and EveryOpener are what a process that ends touches, and who looks for it.
	EveryLock   = (1<<touchLocks - 1) << firstLock
	EveryOpener = (1<<touchOpeners - 1) << firstOpener
)

// TouchAll is everything.
var TouchAll = Touch{^uint64(0), ^uint64(0)}

// Conflicts reports whether it can make a difference which of two comes first. Counts come to the
// same in both orders: how many have a file open is one.
func (t Touch) Conflicts(o Touch) bool {
	const counted = TouchCount | EveryOpener
	return t.Writes&o.Writes&^counted|t.Writes&o.Reads|t.Reads&o.Writes != 0
}

// Add makes t what both touch.
func (t *Touch) Add(o Touch) {
	t.Reads |= o.Reads
	t.Writes |= o.Writes
}

// spread makes the few small numbers of a test differ in their last bits.
func spread(n, of uint64) uint64 { return (n>>16*5 + n&0xffff) % of }

func entryBit(name string) uint64 {
	h := uint64(0)
	for i := range len(name) {
		h = h*31 + uint64(name[i])
	}
	return 1 << (firstEntry + h%touchEntries)
}

func fileBit(inode uint64) uint64   { return 1 << (firstFile + spread(inode, touchFiles)) }
func lockBit(inode uint64) uint64   { return 1 << (firstLock + spread(inode, touchLocks)) }
func openerBit(inode uint64) uint64 { return 1 << (firstOpener + spread(inode, touchOpeners)) }

// touching runs an operation and notes what it touches.
func (p *Process) touching(op *Op, desc *description, fn func(op *Op) error) {
	if desc == nil {
		files := p.disk.behind(op)
		op.Err = fn(op)
		op.touches(files)
		return
	}
	unlinked, shared := desc.node.links == 0, len(desc.refs) > 1
	op.Err = fn(op)
	op.touches(0)
	if op.Depends { // on whether others can notice it
		op.Touched.Reads |= fileBit(desc.node.num)
	}
	if op.Depends && unlinked {
		op.Touched.Reads |= openerBit(desc.node.num)
	}
	if shared && op.Kind == OpClose {
		op.Touched.Writes |= lockBit(desc.node.num)
	}
}

// behind returns what the names of an operation stand for.
func (d *Disk) behind(op *Op) (bits uint64) {
	dir := d.dirs[op.Dir]
	if dir == nil {
		return 0
	}
	for _, name := range [...]string{op.Name, op.To} {
		if n := dir.names[name]; n != nil {
			bits |= fileBit(n.num)
		}
	}
	return bits
}

// touches notes what an operation touched, with the files that its names stood for before.
func (op *Op) touches(files uint64) {
	t := &op.Touched
	here := op.Inode
	switch op.Kind {
	case OpOpenDir, OpCloseDir, OpSelf, OpSyncDir, OpSync, OpCreateUnnamed:
	case OpOpen, OpPin:
		t.Reads = entryBit(op.Name) | files
		if here != 0 {
			t.Writes = openerBit(here)
		}
	case OpStat:
		t.Reads = entryBit(op.Name) | files
	case OpNames:
		t.Reads = everyEntry
	case OpCreate, OpLink, OpLinkUnnamed, OpRename, OpRenameNew, OpExchange, OpRemove:
		names := entryBit(op.Name)
		if op.To != "" {
			names |= entryBit(op.To)
		}
		if here != 0 {
			files |= fileBit(here)
		}
		t.changes(op.Changed, names|files)
	case OpRead, OpFstat:
		t.Reads = fileBit(here)
	case OpWrite, OpAppend, OpTruncate, OpChmod, OpChown:
		t.changes(op.Changed, fileBit(here))
	case OpLock, OpUnlock:
		t.changes(op.Changed, lockBit(here))
	case OpLocked:
		t.Reads = lockBit(here)
	case OpAlone:
		t.Reads = openerBit(here)
	case OpClose:
		t.Writes = openerBit(here)
		if op.Changed {
			t.Writes |= lockBit(here)
		}
	default:
		*t = TouchAll
	}
}

func (t *Touch) changes(changed bool, bits uint64) {
	if t.Reads |= bits; changed {
		t.Writes |= bits
	}
}
