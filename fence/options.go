package fence

import (
	"context"
	"io/fs"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// Options are for the lock protocol, which makes its counters with New. The zero value needs UID
// and GID set to -1.
type Options struct {
	// Floor says where to go on when the file is missing, empty or damaged: the largest number that
	// is known from elsewhere. It is called inside the gate, and before a missing file is created,
	// and must not use the Counter. Nil: a missing file starts at 0 and a damaged one is an error
	// (ErrDamaged).
	Floor func() (Token, error)
	// Mode is the mode of a new file, whatever the umask. 0 means 0600.
	Mode fs.FileMode
	// UID and GID own a new file. -1 leaves them as they come.
	UID, GID int
	// Inherit says all three when a file is to be made. Nil: the fields.
	Inherit func() (mode fs.FileMode, uid, gid int)
	// Repaired is told, inside the gate, that a damaged file was repaired, or that a missing one
	// was created with a number above 0: what was there, and the number now.
	Repaired func(was string, now Token)
	// TempName makes the name of the file under which a new counter is made complete, where files
	// without a name do not exist. While it exists its kernel lock is held; a leftover has none.
	// Nil: the name of the counter, a dot, 16 random hexadecimal digits and ".tmp".
	TempName func() string
	// WithoutKernelLock makes gates on filesystems that have no kernel locks too. There it is
	// unsafe: the gate excludes only users of this one Counter, and no other process.
	WithoutKernelLock bool
	// Pause waits between two tries of Hold, and returns early with an error when ctx ends. Nil: a
	// timer.
	Pause func(ctx context.Context, d time.Duration) error
}

// Owner has the Options of a counter. Most uses of one need none of them.
type Owner interface{ FenceOptions() Options }

// Init makes c, a zero Counter, what New returns, with the options of an owner, who is asked only
// when they matter, but for the one that always does.
func (c *Counter) Init(dir vfs.Dir, name string, of Owner, withoutKernelLock bool) {
	c.dir, c.name, c.of = dir, name, of
	c.setOptions(Options{WithoutKernelLock: withoutKernelLock})
}

// options returns all of them. For WithoutKernelLock alone c.opts will do.
func (c *Counter) options() Options {
	if c.of != nil {
		return c.of.FenceOptions()
	}
	return c.opts
}
