package probe

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// target is the file whose openers are looked for.
type target struct {
	handle  int
	file    fileID
	overlay bool
}

// fileID is what stat says of a file, as far as it tells it from others.
type fileID struct {
	major, minor uint32
	inode        uint64
	regular      bool
	born         unix.StatxTimestamp // creation time, where the filesystem has one
	bornKnown    bool
}

func newTarget(handle int) (target, error) {
	file, err := statFile(handle, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return target{}, err
	}
	st, err := fstatfs(handle)
	return target{handle, file, magic(st) == unix.OVERLAYFS_SUPER_MAGIC}, err
}

// statFile asks for what the kernel has in memory: a network server that does not answer must not
// hold up the walk for a file that is none of its.
func statFile(dirfd int, name string, flags int) (fileID, error) {
	var st unix.Statx_t
	const mask = unix.STATX_INO | unix.STATX_TYPE | unix.STATX_BTIME
	err := statx(dirfd, name, flags|unix.AT_STATX_DONT_SYNC, mask, &st)
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 4.11; a seccomp filter
		return oldStatFile(dirfd, name, flags)
	}
	return fileID{
		major: st.Dev_major, minor: st.Dev_minor, inode: st.Ino,
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
		born:    st.Btime, bornKnown: st.Mask&unix.STATX_BTIME != 0,
	}, err
}

func oldStatFile(dirfd int, name string, flags int) (fileID, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dirfd, name, &st, flags)
	dev := uint64(st.Dev)
	return fileID{
		major: unix.Major(dev), minor: unix.Minor(dev), inode: st.Ino,
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}, err
}

// is reports whether another descriptor is open on the file; overlay tells whether that one is on
// an overlay. One file can be open through an overlay and through its upper layer: under two
// devices, with an inode of which the overlay may use the high bits for itself. There a file that
// only looks like it counts as the file, because the answer that somebody has it open does no harm.
func (t target) is(other fileID, overlay func() bool) bool {
	a := t.file
	if a.inode == other.inode && a.major == other.major && a.minor == other.minor {
		return true
	}
	if uint32(a.inode) != uint32(other.inode) || !a.regular || !other.regular {
		return false
	}
	if a.bornKnown && other.bornKnown && a.born != other.born {
		return false
	}
	return t.overlay || overlay()
}

// fdWalk looks through the descriptor tables of all threads.
type fdWalk struct {
	proc   procFS
	self   int
	target target
	found  []Opener
	gaps   gaps
}

// process looks at all threads of one process.
func (w *fdWalk) process(pid int) {
	name := strconv.Itoa(pid)
	dir, err := w.proc.openDir(name)
	if err != nil {
		w.gap("/proc/"+name, err)
		return
	}
	defer dir.close()
	st, err := readStat(dir, "stat")
	if err != nil {
		w.gap("/proc/"+name+"/stat", err)
		return
	}
	if st.exited() {
		return // it closed everything before it became a zombie, whose folder only root may open
	}
	tids := []int{pid}
	if st.threads != 1 || st.deadLeader() {
		if tids, err = dir.numbers("task"); err != nil {
			w.gap("/proc/"+name+"/task", err)
			return
		}
	}
	// Threads nearly always share one table. A table that was looked through and is shared later
	// was shared before, because tables are never joined: so look first and compare afterwards.
	var tables []int
	for _, tid := range tids {
		if tid == pid && st.deadLeader() || sharesTable(tid, tables) {
			continue // a dead thread has closed everything, and may be closed to us
		}
		switch err := w.table(dir, st, tid); err {
		case nil:
			tables = append(tables, tid)
		case unix.EACCES, unix.EPERM:
			return // what one thread does not let us see, the others will not either
		}
	}
}

// gap notes what could not be read, unless it is no longer there, and returns the error.
func (w *fdWalk) gap(what string, err error) error {
	if !vanished(err) {
		w.gaps.add(what, err)
	}
	return err
}

// kcmpFiles is KCMP_FILES of linux/kcmp.h.
const kcmpFiles = 2

// sharesTable reports whether a thread is known to share its table with one that was looked at.
// Where kcmp is not there or not allowed it says no, which only costs time.
func sharesTable(tid int, tables []int) bool {
	return slices.ContainsFunc(tables, func(other int) bool {
		order, _, errno := unix.Syscall6(
			unix.SYS_KCMP,
			uintptr(other),
			uintptr(tid),
			kcmpFiles,
			0,
			0,
			0,
		)
		return errno == 0 && order == 0
	})
}

// table looks through the descriptors of one thread. The error, if any, has been noted.
func (w *fdWalk) table(dir directory, st procStat, tid int) error {
	name := "task/" + strconv.Itoa(tid)
	path := "/proc/" + strconv.Itoa(st.pid) + "/" + name + "/fd"
	list, err := dir.openList(name + "/fd")
	if err != nil {
		return w.gap(path, err)
	}
	defer list.close()
	fds, err := list.names()
	if err != nil {
		return w.gap(path, err)
	}
	own := "" // the descriptor that the question was asked with
	if st.pid == w.self {
		own = strconv.Itoa(w.target.handle)
	}
	for _, fd := range fds {
		if fd == own {
			continue
		}
		file, err := statFile(int(list), fd, 0)
		switch {
		case err == unix.EACCES || err == unix.EPERM:
			return w.gap(path, err) // it will be the same for all of them
		case err != nil:
			w.gap(path+"/"+fd, err)
		case w.target.is(file, func() bool { return onOverlay(list, fd) }):
			w.opener(dir, st, name+"/fdinfo/"+fd)
		}
	}
	return nil
}

func onOverlay(list directory, fd string) bool {
	f, err := list.open(fd, unix.O_PATH)
	if err != nil {
		return true // it cannot be excluded
	}
	defer f.close()
	st, err := fstatfs(int(f))
	return err != nil || magic(st) == unix.OVERLAYFS_SUPER_MAGIC
}

// opener notes that a process has the file open. Where the details cannot be read it counts all the
// same.
func (w *fdWalk) opener(dir directory, st procStat, fdinfo string) {
	locked := false
	if text, err := dir.read(fdinfo, nil); err == nil {
		info := parseFDInfo(text)
		if info.flagsOK && info.flags&unix.O_PATH != 0 {
			return
		}
		locked = info.locked
	}
	for i := range w.found {
		if w.found[i].PID == st.pid {
			w.found[i].Locked = w.found[i].Locked || locked
			return
		}
	}
	w.found = append(w.found, Opener{PID: st.pid, Name: st.comm, Locked: locked})
}
