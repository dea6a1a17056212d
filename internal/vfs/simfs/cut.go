package simfs

import (
	"maps"
	"slices"
)

// write is one write or truncation of a file that was not flushed.
type write struct {
	off      int64
	data     []byte
	truncate bool
}

// CutModel says what a power cut may do besides what every file system may.
//
// Always: what File.Sync flushed of a file, and the names that Dir.Sync flushed, are there
// afterwards. Of what a file got since, each write may have arrived, in whole or only its first
// bytes, or not at all, or only the size that it gave the file, with NUL bytes for content; later
// writes may have arrived where earlier ones did not. Of what names were changed since, some may
// have arrived; each change (also a rename that replaces, and an exchange) in whole or not at all.
// Names and contents are independent: a name may have arrived and the content of its file not, as
// long as that was not flushed.
type CutModel struct {
	// AnyNames lets any subset of the changes of names survive. Otherwise they survive in the order
	// in which they were made, up to one: what file systems with one journal do.
	AnyNames bool
	// Tears says at how many places a write may be torn. They are spread over it.
	Tears int
}

// Choose picks one of n possibilities, 0 to n-1.
type Choose func(n int) int

// Cut returns a disk as it may be found after a power cut. No process is on it.
func (d *Disk) Cut(m CutModel, choose Choose) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := &Disk{opts: d.opts, dirs: map[string]*directory{}, device: d.device, next: d.next}
	found := map[*inode]*inode{}
	for _, at := range slices.Sorted(maps.Keys(d.dirs)) {
		dir := d.dirs[at]
		names := maps.Clone(dir.durable)
		if m.AnyNames {
			for _, c := range dir.pending {
				if choose(2) == 0 {
					c.apply(names)
				}
			}
		} else if n := len(dir.pending); n > 0 {
			for _, c := range dir.pending[:n-choose(n+1)] {
				c.apply(names)
			}
		}
		to := &directory{path: dir.path, num: dir.num, mode: dir.mode, uid: dir.uid,
			names: map[string]*inode{}}
		after.dirs[at] = to
		for _, name := range slices.Sorted(maps.Keys(names)) {
			n := names[name]
			if found[n] == nil {
				content := n.survive(m, choose)
				found[n] = &inode{num: n.num, mode: n.mode, uid: n.uid, gid: n.gid, data: content,
					durable: content, named: true}
				after.rehash(found[n])
			}
			after.set(to, name, found[n])
		}
		to.durable = maps.Clone(to.names)
	}
	return after
}

// survive returns what a file contains after a power cut.
func (n *inode) survive(m CutModel, choose Choose) []byte {
	content := slices.Clone(n.durable)
	for _, w := range n.pending {
		switch {
		case w.truncate:
			if choose(2) == 0 {
				content = resize(content, w.off)
			}
			continue
		case len(w.data) == 0:
			continue
		}
		end := w.off + int64(len(w.data))
		tears := min(m.Tears, len(w.data)-1)
		ways := 2 + tears
		if end > int64(len(content)) {
			ways++ // only the size
		}
		switch way := choose(ways); {
		case way == 0:
			content = overwrite(content, w.off, w.data)
		case way == 1:
		case way < 2+tears:
			first := len(w.data) * (way - 1) / (tears + 1)
			content = overwrite(content, w.off, w.data[:max(1, first)])
		default:
			content = resize(content, end)
		}
	}
	return content
}

// Pending says how many changes of names and writes of files that have one a power cut may lose.
func (d *Disk) Pending() (names, writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range d.dirs {
		names += len(dir.pending)
		seen := map[*inode]bool{}
		for _, n := range dir.names {
			if !seen[n] {
				seen[n] = true
				writes += len(n.pending)
			}
		}
	}
	return names, writes
}
