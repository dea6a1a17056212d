package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Resolve never cleans a path before its links are followed: "link/../x" is where the system goes,
// not where the text points.
func (osFS) Resolve(path string) (dir, base string, err error) {
	dir, base, err = splitReal(path)
	if err != nil {
		return "", "", pathError("resolve", path, err)
	}
	for range maxLinks {
		full := join(dir, base)
		info, err := os.Lstat(full)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			// Nothing there, or no right to look: whoever opens the name gets to know.
			return dir, base, nil
		}
		target, err := os.Readlink(full)
		if err != nil {
			return "", "", pathError("resolve", path, err)
		}
		if !filepath.IsAbs(target) {
			target = join(dir, target)
		}
		if dir, base, err = splitReal(target); err != nil {
			return "", "", pathError("resolve", path, err)
		}
	}
	return "", "", pathError("resolve", path, ErrLinks)
}

// maxLinks is how many links in a row are followed, as many as Linux follows itself. Whoever
// stopped earlier would give one file two locks.
const maxLinks = 40

// ErrLinks: a path leads through more links than that, or in a circle.
var ErrLinks = errors.New("too many levels of symbolic links")

// splitReal returns the real path of the directory of path, and the last element as it stands.
func splitReal(path string) (dir, base string, err error) {
	if path == "" {
		return "", "", errors.New("the path is empty")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", "", errors.New("the path has a NUL byte in it")
	}
	dir, base = splitLast(path)
	switch base {
	case "":
		return "", "", errors.New("the path names a directory, not a file")
	case ".", "..":
		return "", "", errors.New(
			"the path ends in a dot element, so it names a directory, not a file",
		)
	}
	if err := element(base); err != nil {
		return "", "", err
	}
	if dir == "" {
		dir = "."
	}
	if !filepath.IsAbs(dir) {
		if runtime.GOOS == "windows" { // where a drive has a current directory of its own
			dir, err = filepath.Abs(dir)
		} else {
			var cwd string
			cwd, err = os.Getwd()
			dir = join(cwd, dir)
		}
		if err != nil {
			return "", "", err
		}
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", err
	}
	return dir, base, nil
}

// splitLast cuts path before its last element. The directory keeps its separator.
func splitLast(path string) (dir, base string) {
	i := len(path)
	for i > len(filepath.VolumeName(path)) && !os.IsPathSeparator(path[i-1]) {
		i--
	}
	return path[:i], path[i:]
}
