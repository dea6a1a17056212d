package probe

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// procFS is one look at /proc through an open descriptor, so that all of it comes from one mount.
type procFS struct{ directory }

// openProcFS opens /proc and makes sure that it is procfs. That is enough for /proc/self, which
// leads to this process even in the /proc of an outer pid namespace.
func openProcFS() (procFS, error) {
	root, err := directory(unix.AT_FDCWD).openDir("/proc")
	if err != nil {
		return procFS{noDirectory}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	st, err := fstatfs(int(root))
	if err == nil && magic(st) != unix.PROC_SUPER_MAGIC {
		err = fmt.Errorf("a %s filesystem is mounted there", linuxFilesystem(magic(st)))
	}
	if err != nil {
		root.close()
		return procFS{noDirectory}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return procFS{root}, nil
}

// ours reports, as a nil error, that the numbers in /proc are the numbers of this process's pid
// namespace. Comparing /proc/self with getpid finds most that are not, and is asked every time; two
// namespaces can know this process by the same number, so that NSpid is asked once per mount.
func (s *linuxSystem) ours(proc procFS) error {
	pid := os.Getpid()
	self, err := proc.readLink("self")
	if err != nil {
		// Also what the /proc of a namespace in which this process does not exist says.
		return fmt.Errorf("%w: it does not know this process: %w", ErrUntrusted, err)
	}
	if self != strconv.Itoa(pid) {
		return fmt.Errorf("%w: it belongs to another pid namespace: this process is %d and "+
			"/proc/self is %s", ErrUntrusted, pid, self)
	}
	mount, mountErr := mountOf(proc.directory)
	if known := s.oursOn.Load(); mountErr == nil && known != nil && *known == mount {
		return nil
	}
	if err := checkNSpid(proc, pid); err != nil {
		return err
	}
	if mountErr == nil {
		s.oursOn.Store(&mount)
	}
	return nil
}

func checkNSpid(proc procFS, pid int) error {
	status, err := proc.read("self/status", nil)
	if err != nil {
		return fmt.Errorf("%w: /proc/self/status: %w", ErrUntrusted, err)
	}
	numbers := statusNumbers(status, "NSpid")
	if len(numbers) == 0 {
		// A kernel without pid namespaces has no such line, and no such file.
		if _, err := proc.readLink("self/ns/pid"); err == unix.ENOENT {
			return nil
		}
	}
	if why := foreignNumbers(numbers, pid); why != "" {
		return fmt.Errorf("%w: %s", ErrUntrusted, why)
	}
	return nil
}

// mountKey tells two mounts apart as well as the kernel lets us.
type mountKey struct {
	major, minor uint32
	mount        uint64
	unique       bool // mount is never given to another one in this boot (Linux 6.8)
}

// mountOf returns the key of the mount that d is open on.
func mountOf(d directory) (mountKey, error) {
	const mask = unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE
	var st unix.Statx_t
	if err := statx(int(d), "", unix.AT_EMPTY_PATH, mask, &st); err != nil {
		return mountKey{}, err
	}
	if st.Mask&mask == 0 {
		return mountKey{}, unix.ENOSYS
	}
	unique := st.Mask&unix.STATX_MNT_ID_UNIQUE != 0
	return mountKey{st.Dev_major, st.Dev_minor, st.Mnt_id, unique}, nil
}

func statx(dirfd int, name string, flags, mask int, st *unix.Statx_t) error {
	for {
		if err := unix.Statx(dirfd, name, flags, mask, st); err != unix.EINTR {
			return err
		}
	}
}

// mountNumber returns the number in mountinfo of the mount that fd is open on.
func (proc procFS) mountNumber(fd int) (int, error) {
	var st unix.Statx_t
	err := statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		return int(st.Mnt_id), nil
	}
	// Before Linux 5.8, or behind a filter that does not know statx.
	text, err := proc.read("self/fdinfo/"+strconv.Itoa(fd), nil)
	if err != nil {
		return 0, err
	}
	if info := parseFDInfo(text); info.mount >= 0 {
		return info.mount, nil
	}
	return 0, unix.ENOSYS
}

// mounts reads the mounts that the calling thread sees.
func (proc procFS) mounts() ([]mountEntry, error) {
	text, err := proc.read("thread-self/mountinfo", make([]byte, 0, 16<<10))
	if err == unix.ENOENT { // before Linux 3.17
		text, err = proc.read("self/mountinfo", nil)
	}
	if err != nil {
		return nil, err
	}
	return parseMountInfo(string(text)), nil
}

// showsAll reports, as a nil error, that a /proc that is ours hides no process from anybody. It
// goes by the mount options, and asks for the one process that is always there to be sure that they
// mean what they say. hidepid is not trusted even where this process has every privilege: a
// security module may hide from root what hidepid leaves to it.
func (s *linuxSystem) showsAll(proc procFS) error {
	mounts, err := proc.mounts()
	if err != nil {
		return fmt.Errorf("%w: mountinfo: %w", ErrUntrusted, err)
	}
	number, err := proc.mountNumber(int(proc.directory))
	if err != nil {
		return fmt.Errorf("%w: its mount options cannot be found: %w", ErrUntrusted, err)
	}
	m, ok := mountByID(mounts, number)
	if !ok || m.fsType != "proc" || m.point != "/proc" || m.root != "/" {
		return fmt.Errorf("%w: its mount options cannot be found", ErrUntrusted)
	}
	if option := m.hides(); option != "" {
		return fmt.Errorf("%w: it is mounted with %s", ErrUntrusted, option)
	}
	for _, m := range mounts {
		if m.coversProcess() {
			return fmt.Errorf("%w: something is mounted on %s", ErrUntrusted, m.point)
		}
	}
	f, err := proc.open("1/stat", unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("%w: it hides process 1: %w", ErrUntrusted, err)
	}
	f.close()
	return nil
}

// openWholeProcFS opens a /proc that describes this pid namespace, and reports what else is wrong
// with it. The first error means that it is of no use, the second that it may not be complete.
func (s *linuxSystem) openWholeProcFS() (proc procFS, unusable, incomplete error) {
	proc, err := openProcFS()
	if err != nil {
		return proc, err, nil
	}
	if err := s.ours(proc); err != nil {
		proc.close()
		return procFS{noDirectory}, err, nil
	}
	return proc, nil, s.showsAll(proc)
}

// mountByID finds a mount by its number.
func mountByID(mounts []mountEntry, id int) (mountEntry, bool) {
	for _, m := range mounts {
		if m.id == id {
			return m, true
		}
	}
	return mountEntry{}, false
}
