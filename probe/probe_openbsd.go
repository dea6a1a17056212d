package probe

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "openbsd",
	source: "sysctl kern.proc (KERN_PROC_PID %d)",
	entry: func(pid int) ([]byte, error) {
		if strconv.IntSize < 64 {
			return nil, errLayout
		}
		return sysctlEntry("kern.proc", 1, pid, openSize, 1) // KERN_PROC_PID
	},
	decode: func(b []byte) (kinfo, error) { return decodeOpenBSD(b, binary.NativeEndian) },
	kill:   killZero,
	boot:   bootTime,
	rule:   startMoves,
	facts: func() hostFacts {
		return hostFacts{
			release: kernelRelease(),
			// OpenBSD has nothing that names a boot: without, no process of a record is
			// ever compared with one that is there, and only the kernel lock is evidence.
			boot:    Unknown[string]("", errNoBootID),
			machine: machineUUID("hw.uuid"),
			legacy:  legacyMachineID(),
			initial: Unknown[bool]("", errNoBootID),
		}
	},
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
