package probe

import (
	"runtime"

	"golang.org/x/sys/windows"
)

// onOtherThread calls f with the number of a thread of this process, on that thread. Threads and
// processes have numbers of one kind on Windows, and no two of them the same.
func onOtherThread(f func(tid int)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f(int(windows.GetCurrentThreadId()))
	}()
	<-done
}
