//go:build !linux && !windows

package probe

// onOtherThread does nothing where threads have no numbers that could be taken for processes.
func onOtherThread(func(tid int)) {}
