//go:build linux

package main

import (
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
)

// injected counts the faults of this process.
var injected atomic.Int64

var errnos = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EPERM,
	syscall.EROFS, syscall.EMFILE, syscall.ENOLCK, syscall.ENOTSUP, syscall.EINTR, syscall.EAGAIN}

// injectFaults lets one in so many file operations on the state's folder fail from now on.
func injectFaults(seed uint64, stream uint64, rate int, folder string) {
	r := rand.New(rand.NewPCG(seed, stream))
	vfs.Interpose(func(under vfs.FS) vfs.FS {
		return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
			if op.Dir != folder && filepath.Dir(op.Dir) != folder || r.IntN(rate) != 0 {
				return faultfs.Action{}
			}
			injected.Add(1)
			return faultfs.Action{Half: op.Writes && r.IntN(2) == 0,
				Err: errnos[r.IntN(len(errnos))]}
		})
	})
}
