// Package seam is where the lock meets the process that it runs in: who that is, time, chance and
// goroutines. The real ones are used unless a test enters a process of its own, of which it can
// have several in one program, and run them under every schedule.
package seam

import (
	"context"
	"time"

	"github.com/probate-dev/probate/internal/vfs"
)

// Process is what the lock needs of its process. Every function must be there.
type Process struct {
	PID    func() int       // number of the calling process
	UID    func() int       // effective user, -1 on systems without numbered users
	Now    func() time.Time // wall clock: for display, never evidence
	Random func(b []byte)   // fills b, and never fails
	// Go runs fn beside everything else.
	Go func(fn func())
	// Pause waits, and returns early with the cause of ctx when that ends.
	Pause func(ctx context.Context, d time.Duration) error
	// Later runs fn once after d, beside everything else, unless it is stopped before.
	Later func(d time.Duration, fn func()) (stop func())
	// Ready makes waiters prepare their record before a Pause, and publish it after that without
	// looking first, as those do that the system wakes.
	Ready bool
}

// Enter makes opts, a *lockfile.Options, and all its copies those of a process of its own, on that
// file system. What lockfile remembers for each process begins anew. Package lockfile sets it.
var Enter func(opts any, files vfs.FS, p Process)
