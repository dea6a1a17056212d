package probe

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:     "darwin",
	source: "sysctl kern.proc.pid.%d",
	entry:  func(pid int) ([]byte, error) { return sysctlEntry("kern.proc.pid", pid) },
	decode: func(b []byte) (kinfo, error) { return decodeXNU(b, binary.NativeEndian) },
	kill:   killZero,
	unique: uniqueID,
	boot:   bootTime,
	rule:   startFixed,
	facts: func() hostFacts {
		f := hostFacts{
			release: kernelRelease(),
			boot:    sysctlUUID("kern.bootsessionuuid"),
			machine: hostUUID(),
			initial: Known(true, "macOS has no pid namespaces"),
		}
		// IOPlatformUUID, which programs in other languages read, is this very UUID.
		f.legacy = f.machine.Value
		return f
	},
	filesystem: func(handle uintptr) Filesystem {
		return statMount("darwin", "fstatfs()", handle, fstatfs)
	},
}}

// Arguments of proc_info (bsd/sys/proc_info.h of xnu).
const (
	procInfoCallPIDInfo  = 2
	procPIDUniqueInfo    = 17 // PROC_PIDUNIQIDENTIFIERINFO: asks for no rights
	procPIDFindZombieToo = 1
)

// uniqueID asks for p_uniqueid. There is no function for it in x/sys, and the one in libSystem
// cannot be linked without cgo, so it is the system call itself.
func uniqueID(pid int) (uint64, error) {
	var buf [xnuUniqueSize]byte
	//lint:ignore SA1019 there is no wrapper that can be linked without cgo
	n, _, errno := unix.Syscall6(unix.SYS_PROC_INFO, procInfoCallPIDInfo, uintptr(pid),
		procPIDUniqueInfo, procPIDFindZombieToo, uintptr(unsafe.Pointer(&buf[0])), xnuUniqueSize)
	switch {
	case errno == unix.ESRCH:
		return 0, errNoProcess
	case errno != 0:
		return 0, errno
	case n > xnuUniqueSize:
		return 0, errors.New("more bytes than asked for")
	}
	return decodeXNUUnique(buf[:n], binary.NativeEndian)
}

// hostUUID asks for the UUID of the hardware.
func hostUUID() Fact[string] {
	const source = "gethostuuid()"
	var id [16]byte
	wait := unix.Timespec{Sec: 1} // it is there since early in the boot
	//lint:ignore SA1019 there is no wrapper that can be linked without cgo
	_, _, errno := unix.Syscall(unix.SYS_GETHOSTUUID, uintptr(unsafe.Pointer(&id[0])),
		uintptr(unsafe.Pointer(&wait)), 0)
	if errno != 0 {
		return Unknown[string](source, errno)
	}
	text, err := uuidOf(id[:])
	if err != nil {
		return Unknown[string](source, err)
	}
	return Known(text, source)
}

// The layout as x/sys has it: a difference is an array of another length, or of a negative one, and
// does not compile.
var (
	_ [0]byte = [unsafe.Sizeof(unix.KinfoProc{}) - xnuSize]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.KinfoProc{}.Proc)]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.ExternProc{}.P_starttime) - xnuStartSec]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.Timeval{}.Usec) + xnuStartSec - xnuStartUsec]byte{}
	_ [4]byte = [unsafe.Sizeof(unix.Timeval{}.Usec)]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.ExternProc{}.P_flag) - xnuFlag]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.ExternProc{}.P_stat) - xnuStat]byte{}
	_ [1]byte = [unsafe.Sizeof(unix.ExternProc{}.P_stat)]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.ExternProc{}.P_pid) - xnuPID]byte{}
	_ [0]byte = [unsafe.Offsetof(unix.ExternProc{}.P_comm) - xnuComm]byte{}
	_ [0]byte = [unsafe.Sizeof(unix.ExternProc{}.P_comm) + xnuComm - xnuCommEnd]byte{}
)
