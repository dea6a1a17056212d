package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// notRegular says what stands where a regular file should be.
func notRegular(mode fs.FileMode) error {
	return fmt.Errorf("%w but %s", ErrNotRegular, kindOf(mode))
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func linkError(op, old, new string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: old, New: new, Err: err}
}

// join is the path of name in errors. It does not clean: what is shown is what was asked.
func join(dir, name string) string {
	if strings.HasSuffix(dir, string(os.PathSeparator)) {
		return dir + name
	}
	return dir + string(os.PathSeparator) + name
}

// noLocks is what matches ErrNoLocks.
type noLocks struct{ error }

func (e noLocks) Is(target error) bool { return target == ErrNoLocks }
func (e noLocks) Unwrap() error        { return e.error }

var errName = errors.New("not the name of a file in this directory")

// element refuses what is not one element, so that no name leaves its directory.
func element(name string) error {
	if name == "" || name == "." || name == ".." {
		return errName
	}
	for i := range len(name) {
		if name[i] == 0 || os.IsPathSeparator(name[i]) {
			return errName
		}
	}
	return systemName(name)
}
