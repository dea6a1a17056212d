package wake

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Cheap reports whether a Watch of a file costs neither a thread nor a goroutine of its own.
const Cheap = true

func (w *Watch) open(t Target) {
	w.File = theHub.add(w, t)
	w.Process = t.PID > 0 && w.process(t.PID)
}

// process waits for the end of a process in the runtime's poller.
func (w *Watch) process(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err == unix.EINVAL { // before Linux 5.10
		if fd, err = unix.PidfdOpen(pid, 0); err == nil {
			err = unix.SetNonblock(fd, true)
		}
	}
	if err == unix.ESRCH {
		w.tell() // it has ended already
		return true
	}
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	c, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return false
	}
	w.atClose(func() { f.Close() })
	go func() {
		err := c.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 0)
			return err != nil && err != unix.EINTR || n > 0
		})
		if err == nil {
			w.tell()
		}
	}()
	return true
}

// hub is the inotify instance of this process: there may be few of them for each user (128 unless
// told otherwise), and one can watch many files. It is open while somebody watches.
type hub struct {
	mu    sync.Mutex
	f     *os.File // nil: not open
	fd    int
	files map[uint32]map[*Watch]bool
	idle  *time.Timer // closes the instance when nobody has watched for a while
}

// linger is how long an unused instance stays open: the kernel takes milliseconds to close one.
const linger = 20 * time.Millisecond

var theHub hub

// changes are the events of an inode: a link removed or another attribute changed, renamed or
// exchanged, removed, written, and closed by the last one who could write it, which is also what
// the kernel does for an owner that dies.
const changes = unix.IN_ATTRIB | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_MODIFY |
	unix.IN_CLOSE_WRITE

// add has one more Watch told.
func (h *hub) add(w *Watch, t Target) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	if h.f == nil && !h.open() {
		return false
	}
	mask := uint32(changes | unix.IN_MASK_ADD) // others may watch the same file
	if t.Quietly {
		mask &^= unix.IN_CLOSE_WRITE
	}
	wd, err := addWatch(h.fd, t, mask)
	if err != nil {
		h.closeIfUnused()
		return false
	}
	id := uint32(wd)
	if h.files[id] == nil {
		h.files[id] = map[*Watch]bool{}
	}
	h.files[id][w] = true
	w.atClose(func() { h.remove(id, w) })
	return true
}

// addWatch begins to watch the inode behind the handle.
func addWatch(fd int, t Target, mask uint32) (wd int, err error) {
	wd, err = unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(int(t.Handle)), mask)
	if err != nil { // no /proc: by its name, and whoever watches compares again
		path := filepath.Join(t.Dir, t.Name)
		wd, err = unix.InotifyAddWatch(fd, path, mask|unix.IN_DONT_FOLLOW)
	}
	return wd, err
}

func (h *hub) open() bool {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return false
	}
	h.f, h.fd, h.files = os.NewFile(uintptr(fd), "inotify"), fd, map[uint32]map[*Watch]bool{}
	go h.read(h.f)
	return true
}

// closeIfUnused closes the instance after a while, unless it is used again.
func (h *hub) closeIfUnused() {
	if h.f == nil || len(h.files) > 0 || h.idle != nil {
		return
	}
	unused := h.f
	h.idle = time.AfterFunc(linger, func() {
		h.mu.Lock()
		is := h.f == unused && len(h.files) == 0
		if is {
			h.f = nil
		}
		h.mu.Unlock()
		if is {
			unused.Close()
		}
	})
}

func (h *hub) remove(id uint32, w *Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	watches := h.files[id]
	if !watches[w] {
		return // the file is gone, or the instance was closed and opened anew meanwhile
	}
	delete(watches, w)
	if len(watches) == 0 {
		delete(h.files, id)
		_, _ = unix.InotifyRmWatch(h.fd, id)
	}
	h.closeIfUnused()
}

// read hands out the events of one instance until it is closed.
func (h *hub) read(f *os.File) {
	buf := make([]byte, 64*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for {
		n, err := f.Read(buf)
		if err != nil {
			return
		}
		h.mu.Lock()
		if h.f == f {
			h.dispatch(buf[:n])
		}
		h.mu.Unlock()
	}
}

func (h *hub) dispatch(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		id, mask := binary.NativeEndian.Uint32(events), binary.NativeEndian.Uint32(events[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		events = events[min(size, len(events)):]
		if mask&unix.IN_Q_OVERFLOW != 0 { // anything may have happened
			for _, watches := range h.files {
				tellAll(watches)
			}
			continue
		}
		tellAll(h.files[id])
		if mask&unix.IN_IGNORED != 0 { // the inode is gone, or its filesystem
			delete(h.files, id)
			h.closeIfUnused()
		}
	}
}

func tellAll(watches map[*Watch]bool) {
	for w := range watches {
		w.tell()
	}
}
