// Package simfs is a file system in memory for tests: names, inodes, open file descriptions and
// kernel locks as the protocol sees them on Linux, a callback before and after every operation,
// and power cuts. Any number of simulated processes share a Disk; each has a Process, which is its
// vfs.FS, and loses its descriptors and locks when it exits.
//
// It is kept true by the tests of vfstest, which the real file system passes too, and by random
// operations that are made on both and compared.
package simfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/probate-dev/probate/internal/vfs"
)

// Options say what a Disk cannot do. The zero value can do everything.
type Options struct {
	NoExchange        bool // Dir.Exchange
	NoRenameNoReplace bool // Dir.RenameNoReplace
	NoLink            bool // Dir.Link and Dir.LinkUnnamed
	NoUnnamed         bool // Dir.CreateUnnamed
	NoLocks           bool // kernel locks
	NoAlone           bool // File.Alone
	// OpensSeen says that somebody uses File.Alone or Disk.Openers, so that opening and closing a
	// file is something that others can notice.
	OpensSeen bool
	// Uncut says that nobody calls Disk.Cut: what is on the platter is not kept.
	Uncut bool
	// Touches says that somebody wants to know Op.Touched.
	Touches bool
}

// Disk is what all processes see. Its methods are safe for concurrent use.
type Disk struct {
	opts Options

	mu     sync.Mutex
	dirs   map[string]*directory
	hash   uint64 // of everything that can be seen, kept up to date
	device uint64
	next   uint64 // inode numbers of files that no process made
	procs  []*Process

	again Op // that is made again: one at a time
	read  []byte
}

type directory struct {
	path  string
	num   uint64
	mode  fs.FileMode
	uid   int
	names map[string]*inode
	// what is on the platter, and what was done since
	durable map[string]*inode
	pending []change
}

type inode struct {
	num      uint64
	mode     fs.FileMode
	uid, gid int
	data     []byte
	dataHash uint64
	links    int
	opens    int // open file descriptions, without those of Pin
	locks    [2]*description
	pins     int

	durable []byte
	pending []write
	// named says that the file had a name once
	named  bool
	copied int // see copier
}

// description is an open file description. Descriptors of several processes may refer to it.
type description struct {
	id       uint64
	node     *inode
	access   vfs.Access
	pathOnly bool
	refs     []reference
	copied   int // see copier
}

// reference says how many descriptors of a process refer to a description.
type reference struct {
	p *Process
	n int
}

// refer adds to the descriptors of a process, or takes away.
func (desc *description) refer(p *Process, n int) {
	for i := range desc.refs {
		if r := &desc.refs[i]; r.p == p {
			if r.n += n; r.n <= 0 {
				desc.refs = slices.Delete(desc.refs, i, i+1)
			}
			return
		}
	}
	desc.refs = append(desc.refs, reference{p, n})
}

// New returns a disk with the given directories, which belong to uid.
func New(opts Options, uid int, dirs ...string) *Disk {
	d := &Disk{opts: opts, dirs: map[string]*directory{}, device: 7, next: 1 << 40}
	for _, at := range dirs {
		d.next++
		d.dirs[at] = &directory{path: at, num: d.next, mode: 0o700, uid: uid,
			names: map[string]*inode{}, durable: map[string]*inode{}}
	}
	return d
}

// Process returns a new process on the disk. id tells it from all others, and the inodes that it
// makes from theirs: one id for each process of a test, also after others exited. hooks may be nil.
func (d *Disk) Process(id uint64, uid int, hooks Hooks) *Process {
	p := &Process{disk: d, id: id, uid: uid, hooks: hooks}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.procs = append(d.procs, p)
	return p
}

// Hash is a number that differs, but for a coincidence of 64 bits, when anything differs that a
// process can see. It means something within one run of a program.
func (d *Disk) Hash() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hash
}

// Read returns the content of a file, without hooks and rights.
func (d *Disk) Read(name string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.at(name)
	if n == nil {
		return nil, false
	}
	return slices.Clone(n.data), true
}

// Inode returns the inode number that has a name, 0 for none.
func (d *Disk) Inode(name string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.at(name); n != nil {
		return n.num
	}
	return 0
}

// Locked reports whether the file with that name carries a kernel lock.
func (d *Disk) Locked(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.at(name)
	return n != nil && (n.locks[0] != nil || n.locks[1] != nil)
}

// Names returns the names in a directory, sorted.
func (d *Disk) Names(dir string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dirs[dir].sorted()
}

// Put makes a file, or replaces its content, as if it had always been there.
func (d *Disk) Put(name string, content []byte, mode fs.FileMode, uid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.dirs[path.Dir(name)]
	n := d.at(name)
	if n == nil {
		d.next++
		n = &inode{num: d.next, mode: mode, uid: uid, gid: uid}
		d.bind(dir, path.Base(name), n)
	}
	d.unhash(n)
	n.data, n.durable, n.pending = slices.Clone(content), slices.Clone(content), nil
	d.rehash(n)
	d.flush(dir)
}

func (d *Disk) at(name string) *inode {
	dir := d.dirs[path.Dir(name)]
	if dir == nil {
		return nil
	}
	return dir.names[path.Base(name)]
}

func (dir *directory) sorted() []string {
	names := make([]string, 0, len(dir.names))
	for name := range dir.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Process is the file system as one process sees it.
type Process struct {
	disk  *Disk
	id    uint64
	uid   int
	hooks Hooks
	made  uint64 // inodes
	open  []*file
	// set: while an operation is made again, of which it is known
	settled *bool
}

var _ vfs.FS = (*Process)(nil)

// ID returns the id of the process.
func (p *Process) ID() uint64 { return p.id }

// Exit closes all descriptors, as the kernel does for a process that ends, killed or not.
func (p *Process) Exit() {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	for _, f := range p.open {
		if f.desc != nil {
			p.disk.drop(f.desc, p)
			f.desc = nil
		}
	}
	p.open = nil
	p.disk.forget(p)
}

// Inherit gives child the descriptor of a file that p has open, as a fork does.
func (p *Process) Inherit(child *Process, f vfs.File) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	mine, ok := f.(*file)
	if !ok || mine.desc == nil {
		return fs.ErrClosed
	}
	p.disk.hand(child, mine.desc, mine.path)
	return nil
}

// InheritHandle is Inherit by the number that vfs.File.Handle returned.
func (p *Process) InheritHandle(child *Process, handle uintptr) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	for _, f := range p.open {
		if f.desc != nil && uintptr(f.desc.id) == handle {
			p.disk.hand(child, f.desc, f.path)
			return nil
		}
	}
	return fs.ErrClosed
}

func (d *Disk) hand(child *Process, desc *description, at string) {
	desc.refer(child, 1)
	child.open = append(child.open, &file{p: child, desc: desc, path: at})
}

// Holders returns the ids of the processes that have the file behind a handle of p open, without
// that descriptor, and whether each holds its kernel lock: what a scan of all descriptors shows.
func (p *Process) Holders(handle uintptr) map[uint64]bool {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	return p.holders(handle)
}

// Descriptors is a number for what a process has open, and how.
func (p *Process) Descriptors() (h uint64) {
	for _, f := range p.open {
		d := f.desc
		h = Mix(Mix(Sum(h, f.path), d.id), d.node.num)
		h = Mix(h, uint64(d.access)<<1)
		if d.pathOnly {
			h++
		}
	}
	return h
}

// inode returns a new inode number. It tells who made it, so that what is made in another order is
// not another state.
func (p *Process) inode() uint64 {
	p.made++
	return p.id<<16 | p.made
}

// handle returns the lowest number that no description has: who has opened and closed more files
// before is not in another state.
func (p *Process) handle() uint64 {
	for id := p.id<<16 + 1; ; id++ {
		if !p.disk.described(id) {
			return id
		}
	}
}

func (d *Disk) described(id uint64) bool {
	for _, p := range d.procs {
		for _, f := range p.open {
			if f.desc.id == id {
				return true
			}
		}
	}
	return false
}

// aside is the number of the descriptor of a directory.
const aside = 1 << 15

// Resolve implements vfs.FS. There are no links to follow.
func (p *Process) Resolve(name string) (dir, base string, err error) {
	dir, base = path.Split(name)
	dir = path.Clean(dir)
	if !path.IsAbs(name) || base == "" || base == "." || base == ".." {
		return "", "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.EINVAL}
	}
	if p.disk.dirs[dir] == nil {
		return "", "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ENOENT}
	}
	return dir, base, nil
}

// OpenDir implements vfs.FS.
func (p *Process) OpenDir(name string) (vfs.Dir, error) {
	d := &dir{p: p, at: path.Clean(name)}
	op := Op{Kind: OpOpenDir, Name: d.at, Private: true, Args: Args{Dir: d.at}}
	err := p.do(op, func(*Op) error {
		if d.dir = p.disk.dirs[d.at]; d.dir == nil {
			return syscall.ENOENT
		}
		d.id = p.id<<16 | aside
		return nil
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return d, nil
}

var (
	errName  = errors.New("not the name of a file in this directory")
	errLocks = fmt.Errorf("%w: %w", vfs.ErrNoLocks, errors.ErrUnsupported)
)

func element(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return errName
	}
	return nil
}

// lacking is an errno that says that the file system cannot do that.
type lacking struct{ errno syscall.Errno }

func (e lacking) Error() string { return "not here: " + e.errno.Error() }
func (e lacking) Is(target error) bool {
	return target == errors.ErrUnsupported || target == error(e.errno)
}
