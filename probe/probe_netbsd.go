package probe

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "netbsd",
	source: "sysctl kern.proc2 (KERN_PROC_PID %d)",
	entry: func(pid int) ([]byte, error) {
		return sysctlEntry64("kern.proc2", 1, pid, netSize, 1) // KERN_PROC_PID
	},
	decode: func(b []byte) (kinfo, error) { return decodeNetBSD(b, binary.NativeEndian) },
	kill:   killZero,
	boot:   bootTime,
	rule:   startFixed,
	facts:  func() hostFacts { return factsWithoutBoot("machdep.dmi.system-uuid") },
	filesystem: func(handle uintptr) Filesystem {
		return statMount("netbsd", "fstatvfs1()", handle, func(fd int) (mount, error) {
			var st unix.Statvfs_t
			err := unix.Fstatvfs(fd, &st)
			return mount{
				name:    unix.ByteSliceToString(st.Fstypename[:]),
				flagged: st.Flag&unix.MNT_LOCAL != 0,
				id:      st.Fsidx.X__fsid_val,
			}, err
		})
	},
}}
