package simfs

// Copy returns a disk like this one, with copies of its processes, their descriptors and kernel
// locks. hooks says which Hooks the copy of a process has. What is on the platter is not copied.
func (d *Disk) Copy(hooks func(id uint64) Hooks) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	to := &Disk{opts: d.opts, dirs: make(map[string]*directory, len(d.dirs)), hash: d.hash,
		device: d.device, next: d.next, procs: make([]*Process, len(d.procs))}
	to.opts.Uncut = true
	procs := make([]Process, len(d.procs))
	c := copier{from: d.procs, to: to.procs}
	for i, p := range d.procs {
		procs[i] = Process{disk: to, id: p.id, uid: p.uid, hooks: hooks(p.id), made: p.made}
		to.procs[i] = &procs[i]
	}
	for at, dir := range d.dirs {
		names := make(map[string]*inode, len(dir.names)+2)
		for name, n := range dir.names {
			names[name] = c.inode(n)
		}
		to.dirs[at] = &directory{path: dir.path, num: dir.num, mode: dir.mode, uid: dir.uid,
			names: names}
	}
	for i, p := range d.procs {
		files := make([]file, 0, len(p.open))
		open := make([]*file, 0, len(p.open)+2)
		for _, f := range p.open {
			files = append(files, file{p: to.procs[i], path: f.path, desc: c.description(f.desc)})
			open = append(open, &files[len(files)-1])
		}
		to.procs[i].open = open
	}
	return to
}

// Find returns the process with an id that has not exited, nil when there is none.
func (d *Disk) Find(id uint64) *Process {
	for _, p := range d.procs {
		if p.id == id {
			return p
		}
	}
	return nil
}

// copier knows what was copied already. What is copied remembers its place in these lists, which
// means something while its disk is locked and the place has it.
type copier struct {
	from, to []*Process
	nodes    [][2]*inode
	descs    [][2]*description
}

func (c *copier) inode(n *inode) *inode {
	if n.copied < len(c.nodes) && c.nodes[n.copied][0] == n {
		return c.nodes[n.copied][1]
	}
	m := new(inode)
	*m = *n
	m.durable, m.pending = nil, nil
	n.copied = len(c.nodes)
	c.nodes = append(c.nodes, [2]*inode{n, m})
	for i, l := range n.locks {
		m.locks[i] = c.description(l)
	}
	return m
}

func (c *copier) description(desc *description) *description {
	if desc == nil {
		return nil
	}
	if desc.copied < len(c.descs) && c.descs[desc.copied][0] == desc {
		return c.descs[desc.copied][1]
	}
	to := new(description)
	*to = *desc
	desc.copied = len(c.descs)
	c.descs = append(c.descs, [2]*description{desc, to})
	to.refs = make([]reference, len(desc.refs), len(desc.refs)+1)
	for i, r := range desc.refs {
		to.refs[i] = r
		for j, p := range c.from {
			if p == r.p {
				to.refs[i].p = c.to[j]
			}
		}
	}
	to.node = c.inode(desc.node)
	return to
}
