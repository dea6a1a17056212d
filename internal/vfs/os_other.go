//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package vfs

import "errors"

// There is no lock kind on these systems: nothing can be opened in the first place.
const nativeLock LockKind = ""

type osFS struct{}

func (osFS) OpenDir(path string) (Dir, error) {
	return nil, pathError("open", path, errors.ErrUnsupported)
}
