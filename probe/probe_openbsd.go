package probe

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "openbsd",
	source: "sysctl kern.proc (KERN_PROC_PID %d)",
	entry: func(pid int) ([]byte, error) {
		return sysctlEntry64("kern.proc", 1, pid, openSize, 1) // KERN_PROC_PID
	},
	decode: func(b []byte) (kinfo, error) { return decodeOpenBSD(b, binary.NativeEndian) },
	kill:   killZero,
	boot:   bootTime,
	rule:   startMoves,
	facts:  func() hostFacts { return factsWithoutBoot("hw.uuid") },
	filesystem: func(handle uintptr) Filesystem {
		return statMount("openbsd", "fstatfs()", handle, func(fd int) (mount, error) {
			var st unix.Statfs_t
			err := unix.Fstatfs(fd, &st)
			return mount{
				name:    unix.ByteSliceToString(st.F_fstypename[:]),
				flagged: st.F_flags&unix.MNT_LOCAL != 0,
				id:      st.F_fsid.Val,
			}, err
		})
	},
}}
