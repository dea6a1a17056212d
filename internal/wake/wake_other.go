//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package wake

func (w *Watch) open(Target) {}

// Cheap is explained in wake_linux.go.
const Cheap = false
