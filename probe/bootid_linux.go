package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const bootIDFile = "sys/kernel/random/boot_id"

// bootID reads the kernel's boot id and makes sure that it is the kernel's. Container managers
// mount a file of their own over it (LXC, systemd-nspawn), and another file of procfs can be
// mounted there as well: sys/kernel/random/uuid beside it looks the same and is never twice the
// same.
func bootID(proc procFS, err error) Fact[string] {
	const source = "/proc/" + bootIDFile
	if err != nil {
		return Unknown[string](source, err)
	}
	id, err := readBootID(proc)
	if err != nil {
		return Unknown[string](source, err)
	}
	return Known(id, source)
}

func readBootID(proc procFS) (string, error) {
	f, err := proc.open(bootIDFile, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return "", err
	}
	defer f.close()
	st, err := fstatfs(int(f))
	if err != nil {
		return "", err
	}
	if magic(st) != unix.PROC_SUPER_MAGIC {
		return "", fmt.Errorf("%w: a file of a %s filesystem is mounted over it", ErrNotGenuine,
			linuxFilesystem(magic(st)))
	}
	number, err := proc.mountNumber(int(f))
	if err != nil {
		return "", fmt.Errorf("cannot find out what is mounted there: %w", err)
	}
	mounts, err := proc.mounts()
	if err != nil {
		return "", fmt.Errorf("cannot find out what is mounted there: mountinfo: %w", err)
	}
	m, ok := mountByID(mounts, number)
	if !ok {
		return "", fmt.Errorf(
			"cannot find out what is mounted there: no mount %d in mountinfo",
			number,
		)
	}
	if !m.inPlace() {
		return "", fmt.Errorf("%w: %s of a %s filesystem is mounted on %s", ErrNotGenuine, m.root,
			m.fsType, m.point)
	}
	var texts [2]string
	for i := range texts {
		var buf [64]byte
		n, err := unix.Pread(int(f), buf[:], 0)
		if err != nil {
			return "", err
		}
		texts[i] = string(buf[:n])
	}
	id, err := parseBootID(texts[0])
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotGenuine, err)
	}
	if texts[0] != texts[1] {
		return "", fmt.Errorf("%w: it changes with every reading", ErrNotGenuine)
	}
	return id, nil
}
