//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// patience bounds how often a call is repeated that was interrupted, or whose answer grew.
const patience = 100

// sysctlEntry reads a structure of the process table. What is not there is errNoProcess.
func sysctlEntry(name string, args ...int) ([]byte, error) {
	var err error
	for range patience {
		var b []byte
		switch b, err = unix.SysctlRaw(name, args...); err {
		case nil:
			return b, nil
		case unix.ESRCH:
			return nil, errNoProcess
		case unix.EINTR, unix.ENOMEM: // a process was made between asking for the size and reading
		default:
			return nil, err
		}
	}
	return nil, err
}

// killZero asks whether a process has that number. It sends nothing.
func killZero(pid int) error {
	switch err := unix.Kill(pid, 0); err {
	case nil, unix.EPERM:
		return nil
	case unix.ESRCH:
		return errNoProcess
	default:
		return err
	}
}

func bootTime() (kstart, error) {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return kstart{}, err
	}
	return kstart{true, int64(tv.Sec), int64(tv.Usec)}, nil
}

func kernelRelease() Fact[string] {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Unknown[string]("uname()", err)
	}
	return Known(unix.ByteSliceToString(name.Release[:]), "uname()")
}

// sysctlUUID reads a UUID in text form.
func sysctlUUID(name string) Fact[string] {
	source := "sysctl " + name
	text, err := unix.Sysctl(name)
	if err == nil {
		var id string
		if id, err = parseUUID(text); err == nil {
			return Known(id, source)
		}
	}
	return Unknown[string](source, err)
}

// statMount returns the filesystem of a descriptor, by what stat reads of it.
func statMount(os, source string, handle uintptr, stat func(fd int) (mount, error)) Filesystem {
	fd := int(handle)
	m, err := stat(fd)
	for n := 0; err == unix.EINTR && n < patience; n++ {
		m, err = stat(fd)
	}
	if err != nil {
		return Filesystem{Type: Unknown[string](source, err), ID: Unknown[string](source, err)}
	}
	return filesystemOf(os, source, m, func() (string, error) {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return "", err
		}
		dev := uint64(st.Dev)
		return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)), nil
	})
}
