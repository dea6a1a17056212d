//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package wake

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// open registers a kqueue and waits for it on a goroutine, which is a thread of its own while it
// waits: a kqueue cannot be waited for in the runtime's one on every system.
func (w *Watch) open(t Target) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	unix.CloseOnExec(kq)
	read, write, err := os.Pipe() // its closing ends the wait
	if err != nil {
		unix.Close(kq)
		return
	}
	if !add(kq, int(read.Fd()), unix.EVFILT_READ, 0) {
		unix.Close(kq)
		read.Close()
		write.Close()
		return
	}
	file := -1
	path := filepath.Join(t.Dir, t.Name)
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	if fd, err := unix.Open(path, flags, 0); err == nil {
		const notes = unix.NOTE_DELETE | unix.NOTE_RENAME | unix.NOTE_WRITE | unix.NOTE_LINK |
			unix.NOTE_ATTRIB | unix.NOTE_REVOKE
		if w.File = add(kq, fd, unix.EVFILT_VNODE, notes); w.File {
			file = fd
		} else {
			unix.Close(fd)
		}
	}
	if t.PID > 0 {
		w.Process = add(kq, t.PID, unix.EVFILT_PROC, unix.NOTE_EXIT)
	}
	over := make(chan struct{})
	w.atClose(func() {
		write.Close()
		<-over
	})
	go func() {
		defer close(over)
		defer read.Close()
		defer unix.Close(kq)
		if file >= 0 {
			defer unix.Close(file)
		}
		w.wait(kq, int(read.Fd()))
	}()
}

func add(kq, id, filter int, notes uint32) bool {
	event := make([]unix.Kevent_t, 1)
	unix.SetKevent(&event[0], id, filter, unix.EV_ADD|unix.EV_CLEAR)
	event[0].Fflags = notes
	_, err := unix.Kevent(kq, event, nil, nil)
	return err == nil
}

// wait tells of events until the pipe is closed.
func (w *Watch) wait(kq, pipe int) {
	events := make([]unix.Kevent_t, 4)
	for {
		n, err := unix.Kevent(kq, nil, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			if int(e.Ident) == pipe && e.Filter == unix.EVFILT_READ {
				return
			}
		}
		w.tell()
	}
}

// Cheap is explained in wake_linux.go.
const Cheap = false
