package probe

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

var real System = &tableSystem{kernel: kernel{
	os:            "freebsd",
	source:        "sysctl kern.proc.pid.%d",
	entry:         func(pid int) ([]byte, error) { return sysctlEntry64("kern.proc.pid", pid) },
	decode:        func(b []byte) (kinfo, error) { return decodeFreeBSD(b, binary.NativeEndian) },
	kill:          killZero,
	hides:         hides,
	boot:          bootTime,
	rule:          startOfBoot,
	threadNumbers: true,
	facts: func() hostFacts {
		return hostFacts{
			release: kernelRelease(),
			boot:    bootID(),
			machine: machineUUID("kern.hostuuid"),
			legacy:  legacyMachineID(),
			initial: outsideJails(),
		}
	},
	filesystem: func(handle uintptr) Filesystem {
		return statMount("freebsd", "fstatfs()", handle, fstatfs)
	},
}}

// bootID reads the random number of this boot, which FreeBSD has since 13.
func bootID() Fact[string] {
	const source = "sysctl kern.boot_id"
	b, err := unix.SysctlRaw("kern.boot_id")
	if err == nil {
		var id string
		if id, err = uuidOf(b); err == nil {
			return Known(strings.ToLower(id), source)
		}
	}
	return Unknown[string](source, err)
}

func outsideJails() Fact[bool] {
	const source = "sysctl security.jail.jailed"
	jailed, err := unix.SysctlUint32("security.jail.jailed")
	if err != nil {
		return Unknown[bool](source, err)
	}
	return Known(jailed == 0, source)
}

// hides reads what makes FreeBSD say "no such process" about one that is there (p_cansee in
// sys/kern/kern_prot.c): a jail around this process, and policies for other users and jails.
func hides() error { return hiddenBy(unix.SysctlUint32, unix.ENOENT) }
