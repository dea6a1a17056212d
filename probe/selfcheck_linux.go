package probe

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// onOtherThread calls f with the number of a thread of this process that is not its first one, on
// that thread, so that it lives while f runs.
func onOtherThread(f func(tid int)) {
	var done sync.WaitGroup
	// Of two threads that are held at the same time at most one is the first one.
	asked := make(chan struct{})
	var once sync.Once
	for range 2 {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if tid := unix.Gettid(); tid != unix.Getpid() {
				once.Do(func() {
					f(tid)
					close(asked)
				})
			}
			<-asked // hold the thread: the other goroutine must not get the same one
		})
	}
	done.Wait()
}
