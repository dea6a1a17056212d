package wake

import "golang.org/x/sys/windows"

// open waits on a thread of its own for a change in the directory and the end of the process.
func (w *Watch) open(t Target) {
	stop, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return
	}
	handles := []windows.Handle{stop}
	const notify = windows.FILE_NOTIFY_CHANGE_FILE_NAME | windows.FILE_NOTIFY_CHANGE_LAST_WRITE
	change, err := windows.FindFirstChangeNotification(t.Dir, false, notify)
	if w.File = err == nil && change != windows.InvalidHandle; w.File {
		handles = append(handles, change)
	}
	process := windows.InvalidHandle
	if t.PID > 0 {
		process, err = windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(t.PID))
		if w.Process = err == nil; w.Process {
			handles = append(handles, process)
		}
	}
	over := make(chan struct{})
	w.atClose(func() {
		_ = windows.SetEvent(stop)
		<-over
	})
	go func() {
		defer close(over)
		defer windows.CloseHandle(stop)
		if w.File {
			defer windows.FindCloseChangeNotification(change)
		}
		if w.Process {
			defer windows.CloseHandle(process)
		}
		w.wait(handles, change, process)
	}()
}

// wait tells of events until the first handle is signalled.
func (w *Watch) wait(handles []windows.Handle, change, process windows.Handle) {
	for {
		n, err := windows.WaitForMultipleObjects(handles, false, windows.INFINITE)
		if err != nil || n < windows.WAIT_OBJECT_0 ||
			n >= windows.WAIT_OBJECT_0+uint32(len(handles)) {
			return
		}
		switch h := handles[n-windows.WAIT_OBJECT_0]; h {
		case change:
			w.tell()
			if windows.FindNextChangeNotification(h) != nil {
				return
			}
		case process:
			w.tell()
			// it stays signalled: the others are waited for without it
			handles = handles[:len(handles)-1]
		default:
			return
		}
	}
}

// Cheap is explained in wake_linux.go.
const Cheap = false
