package simfs

import (
	"maps"
	"slices"
)

// change is one change of the names of a directory: each is one step, also over a power cut.
type change struct {
	kind  changeKind
	a, b  string
	moved *inode
}

type changeKind int

const (
	bound     changeKind = iota // a names moved
	unbound                     // a is gone
	renamed                     // from a to b, whatever b was
	exchanged                   // a and b
)

// apply makes the change in a map of names, if its sources are there.
func (c change) apply(names map[string]*inode) {
	switch c.kind {
	case bound:
		names[c.a] = c.moved
	case unbound:
		delete(names, c.a)
	case renamed:
		if n := names[c.a]; n != nil {
			names[c.b] = n
			delete(names, c.a)
		}
	case exchanged:
		if names[c.a] != nil && names[c.b] != nil {
			names[c.a], names[c.b] = names[c.b], names[c.a]
		}
	}
}

// note remembers a change until the directory is flushed.
func (d *Disk) note(dir *directory, c change) {
	if !d.opts.Uncut {
		dir.pending = append(dir.pending, c)
	}
}

// flush puts the names on the platter.
func (d *Disk) flush(dir *directory) {
	if len(dir.pending) == 0 {
		return
	}
	dir.durable, dir.pending = maps.Clone(dir.names), nil
}

// set changes what a name stands for, nil for nothing, and keeps links and hash true.
func (d *Disk) set(dir *directory, name string, n *inode) {
	if old := dir.names[name]; old != nil {
		d.hash ^= entrySum(dir, name, old)
		d.unhash(old)
		old.links--
		d.rehashMeta(old)
		delete(dir.names, name)
	}
	if n != nil {
		d.unhash(n)
		n.links++
		n.named = true
		d.rehashMeta(n)
		dir.names[name] = n
		d.hash ^= entrySum(dir, name, n)
	}
}

func (d *Disk) bind(dir *directory, name string, n *inode) {
	d.note(dir, change{kind: bound, a: name, moved: n})
	d.set(dir, name, n)
}

func (d *Disk) unbind(dir *directory, name string) {
	d.note(dir, change{kind: unbound, a: name})
	d.set(dir, name, nil)
}

func (d *Disk) move(dir *directory, old, name string, n *inode) {
	d.note(dir, change{kind: renamed, a: old, b: name})
	d.set(dir, name, n)
	d.set(dir, old, nil)
}

func (d *Disk) exchange(dir *directory, a, b string, x, y *inode) {
	d.note(dir, change{kind: exchanged, a: a, b: b})
	x.links++ // never without a name in between
	y.links++
	d.hash ^= entrySum(dir, a, x) ^ entrySum(dir, b, y)
	dir.names[a], dir.names[b] = y, x
	d.hash ^= entrySum(dir, a, y) ^ entrySum(dir, b, x)
	x.links--
	y.links--
}

// forget takes an exited process off the list.
func (d *Disk) forget(p *Process) {
	if i := slices.Index(d.procs, p); i >= 0 {
		d.procs = slices.Delete(d.procs, i, i+1)
	}
}
