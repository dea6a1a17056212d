package probe

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "netbsd",
	source: "sysctl kern.proc2 (KERN_PROC_PID %d)",
	entry: func(pid int) ([]byte, error) {
		if strconv.IntSize < 64 {
			return nil, errLayout
		}
		return sysctlEntry("kern.proc2", 1, pid, netSize, 1) // KERN_PROC_PID
	},
	decode: func(b []byte) (kinfo, error) { return decodeNetBSD(b, binary.NativeEndian) },
	kill:   killZero,
	boot:   bootTime,
	rule:   startFixed,
	facts: func() hostFacts {
		return hostFacts{
			release: kernelRelease(),
			// NetBSD has nothing that names a boot: without, no process of a record is
			// ever compared with one that is there, and only the kernel lock is evidence.
			boot:    Unknown[string]("", errNoBootID),
			machine: machineUUID("machdep.dmi.system-uuid"),
			legacy:  legacyMachineID(),
			initial: Unknown[bool]("", errNoBootID),
		}
	},
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
