package probe

import (
	"encoding/binary"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "dragonfly",
	source: "sysctl kern.proc.pid.%d",
	entry: func(pid int) ([]byte, error) {
		if strconv.IntSize < 64 {
			return nil, errLayout
		}
		return sysctlEntry("kern.proc.pid", pid)
	},
	decode: func(b []byte) (kinfo, error) { return decodeDragonFly(b, binary.NativeEndian) },
	kill:   killZero,
	hides:  func() error { return errJails },
	boot:   bootTime,
	rule:   startMoves,
	facts: func() hostFacts {
		return hostFacts{
			release: kernelRelease(),
			// DragonFly BSD has nothing that names a boot: without, no process of a record is
			// ever compared with one that is there, and only the kernel lock is evidence.
			boot:    Unknown[string]("", errNoBootID),
			machine: machineUUID("kern.hostuuid"),
			legacy:  legacyMachineID(),
			initial: Unknown[bool]("", errNoBootID),
		}
	},
	filesystem: func(handle uintptr) Filesystem {
		return statMount("dragonfly", "fstatfs()", handle, func(fd int) (mount, error) {
			var st unix.Statfs_t
			err := unix.Fstatfs(fd, &st)
			return mount{
				name:    unix.ByteSliceToString(st.Fstypename[:]),
				flagged: st.Flags&unix.MNT_LOCAL != 0,
				id:      st.Fsid.Val,
			}, err
		})
	},
}}

var errJails = errors.New("whether a jail hides processes is not asked on DragonFly BSD")
