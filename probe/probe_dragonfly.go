package probe

import (
	"encoding/binary"
	"errors"
)

var real System = &tableSystem{kernel: kernel{
	os:     "dragonfly",
	source: "sysctl kern.proc.pid.%d",
	entry:  func(pid int) ([]byte, error) { return sysctlEntry64("kern.proc.pid", pid) },
	decode: func(b []byte) (kinfo, error) { return decodeDragonFly(b, binary.NativeEndian) },
	kill:   killZero,
	hides:  func() error { return errJails },
	boot:   bootTime,
	rule:   startMoves,
	facts:  func() hostFacts { return factsWithoutBoot("kern.hostuuid") },
	filesystem: func(handle uintptr) Filesystem {
		return statMount("dragonfly", "fstatfs()", handle, fstatfs)
	},
}}

var errJails = errors.New("whether a jail hides processes is not asked on DragonFly BSD")
