//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package vfs

import "errors"

// There is no lock kind on these systems: nothing can be opened in the first place.
const (
	nativeLock LockKind = ""
	gateLock            = nativeLock
	ownerKeeps          = false
)

func systemName(string) error { return nil }

type osFS struct{}

func (osFS) OpenDir(path string) (Dir, error) {
	return nil, pathError("open", path, errors.ErrUnsupported)
}
