// Package vfs is the seam between the protocol and the disk: the few file operations that the fence
// and the lock use, one method for each system call, so that tests can schedule, crash and fault
// every one of them. OS is the real one.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
	"time"
)

var (
	// ErrLocked is returned when a kernel lock is held through another open file description.
	ErrLocked = errors.New("locked")
	// ErrNoLocks is returned when the filesystem has no kernel locks. It comes with ErrUnsupported.
	ErrNoLocks = errors.New("no kernel locks")
	// ErrNotRegular is returned by Dir.Open when the name is a link, a directory, a FIFO, a socket
	// or a device. Nothing was waited for or changed.
	ErrNotRegular = errors.New("not a regular file")
	// ErrInUse is returned on Windows when the handle of another program is in the way (a sharing
	// violation), or a file that was deleted and is still open somewhere. Looking again helps, or
	// the end of that program. It was waited for already, for about half a second, where the call
	// changes something.
	ErrInUse = errors.New("in use by another program")
)

// LockKind is the kind of kernel lock, as it stands in records.
type LockKind string

const (
	LockOFD   LockKind = "ofd"   // Linux: exclusive open-file-description lock on the whole file
	LockFlock LockKind = "flock" // BSD, macOS, and Linux before 3.15: exclusive flock
	// Windows: the process that made the file has it open, and does not share its removal
	LockHandle LockKind = "handle"
	// Windows: one byte far behind the end of the file is locked. Gates only: see GateLock.
	LockRange LockKind = "range"
)

// Access says what Dir.Open opens a file for.
type Access int

const (
	Read      Access = iota
	ReadWrite        // on Unix the right to take an exclusive kernel lock comes with it
	Append           // ReadWrite, and whatever is written goes to the end of the file: File.Append
)

// Info is what the file system says about a file.
type Info struct {
	Device uint64
	Inode  uint64
	Mode   fs.FileMode // type and permission bits
	Size   int64
	Links  uint64
	UID    int // -1 where there is none
	GID    int // -1 where there is none

	ModTime time.Time // shown to people; never evidence

	// Linux 6.8: number of the mount, which no other one gets in this boot. Only of files that
	// CreateUnnamed made, see Opened; 0: not asked
	Mount uint64
}

// SameFile reports whether a and b are one file now. Both must have been alive at one moment, as an
// inode number is given out again.
func (a Info) SameFile(b Info) bool { return a.Device == b.Device && a.Inode == b.Inode }

// FS is where directories come from.
type FS interface {
	// Resolve returns the absolute directory, links and dots resolved, and the last element of
	// path. A path that is itself a symbolic link is resolved to what it names. The last element
	// need not exist.
	Resolve(path string) (dir, base string, err error)
	// OpenDir opens a directory for the operations of Dir.
	OpenDir(path string) (Dir, error)
}

// Dir is an open directory. Names are single elements. Errors are *fs.PathError or *os.LinkError
// with the whole path, and wrap the system's errno. Operations that the system or the filesystem
// does not have fail with an error that wraps errors.ErrUnsupported (ENOSYS, EOPNOTSUPP, and EINVAL
// of the rename flags).
type Dir interface {
	Path() string
	// Handle returns the descriptor, for probe.System.Filesystem.
	Handle() uintptr
	// Open opens an existing regular file: no link followed, nothing waited for, created or
	// truncated. On Windows with all sharing.
	Open(name string, access Access) (File, error)
	// Pin opens a file of any type only to keep its inode from being given out again (Linux:
	// O_PATH).
	Pin(name string) (File, error)
	// Create creates and opens a file that must not exist, for reading and writing. On Windows only
	// the Dir and File that made it can rename and remove it until it is closed, also by the name
	// that it gets from them, and only those can open it who share its removal.
	Create(name string, mode fs.FileMode) (File, error)
	// CreateUnnamed creates a file without a name (Linux: O_TMPFILE).
	CreateUnnamed(mode fs.FileMode) (File, error)
	// LinkUnnamed gives a file made by CreateUnnamed a name that must not exist.
	LinkUnnamed(f File, name string) error
	// Link gives old a second name that must not exist.
	Link(old, new string) error
	// RenameNoReplace renames; new must not exist (fs.ErrExist).
	RenameNoReplace(old, new string) error
	// Exchange swaps two existing names in one step.
	Exchange(a, b string) error
	// Rename renames, and replaces new.
	Rename(old, new string) error
	// Remove removes a name that is not a directory. On Windows a file that others may have open
	// can get a name for the rest of its life: NAME.<16 hex>.tmp.
	Remove(name string) error
	// TakeOut removes a name, or renames it to what must not exist if to is not empty, if nobody
	// has the file open (ErrInUse) and is, which gets it open for reading, says yes. From before is
	// is asked until the name is gone nobody else can open the file. Windows; elsewhere Exchange is
	// how a file is taken out and looked at.
	TakeOut(name, to string, is func(f File) (bool, error)) (done bool, err error)
	// Self looks at the directory itself.
	Self() (Info, error)
	// Stat looks at a name without following links.
	Stat(name string) (Info, error)
	// Names returns all names, unsorted.
	Names() ([]string, error)
	// Sync flushes the directory; on Windows the files that got names from this Dir since the last
	// time, whose names are flushed with them.
	Sync() error
	Close() error
}

// File is an open file. Close does not flush.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Append writes p at the end of a file that was opened for Append, after whatever others
	// appended meanwhile.
	Append(p []byte) (int, error)
	Stat() (Info, error)
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	Truncate(size int64) error
	Sync() error
	// Lock takes the exclusive kernel lock of that kind without waiting: ErrLocked when another
	// open file description has one. An error that wraps errors.ErrUnsupported says that the
	// filesystem has no kernel locks.
	Lock(kind LockKind) error
	// Unlock gives the kernel lock up, also for descriptors that were inherited.
	Unlock(kind LockKind) error
	// Locked tests, and disturbs nobody, whether another open file description holds an exclusive
	// kernel lock of that kind. Works on files opened for reading.
	Locked(kind LockKind) (bool, error)
	// Alone reports whether this is the only open file description of the file in the whole system,
	// those apart that can neither read nor write (Pin). It is exact at one moment, in every pid
	// namespace. For that moment others who open the file wait, or see EAGAIN with O_NONBLOCK; on
	// Windows they see ErrInUse until this file is closed.
	Alone() (bool, error)
	// Handle returns the descriptor or handle. It stays valid until Close.
	Handle() uintptr
	Close() error
}

// NativeLock returns the kind of kernel lock that owners take on this system, on the files that
// they made.
func NativeLock() LockKind { return nativeLock }

// ManySpellings reports whether names that differ only in case usually are one on this system, and
// files can have short names besides.
func ManySpellings() bool { return runtime.GOOS == "windows" || runtime.GOOS == "darwin" }

// system is what OS returns.
var system FS = osFS{}

// GateLock returns the kind of kernel lock that is taken, on this system, on a file that others
// made and have open too.
func GateLock() LockKind { return gateLock }

// OwnerKeeps reports whether the kernel lock of a file also keeps everybody else from removing and
// renaming it.
func OwnerKeeps() bool { return ownerKeeps }

// OS returns the real file system.
func OS() FS { return system }

// Interpose puts what wrap makes of the real file system in its place. It is for test programs,
// which call it before anything else runs.
func Interpose(wrap func(FS) FS) { system = wrap(system) }
