//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package wake

func (w *Watch) open(Target) {}
