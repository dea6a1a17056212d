package vfs

import (
	"errors"
	"path/filepath"
	"strings"
)

var errOtherName = errors.New("the system takes this name for another one, a stream or a device")

// systemName refuses what programs that use the Win32 calls could not name: they drop dots and
// blanks at the end, take NUL, CON, COM1 and their like for devices, and what follows a colon for a
// stream of the file before it. The calls below Win32, which this package uses, would make files of
// such names that hardly anybody could look at or remove. Characters that a name cannot have are
// left to the filesystem, which says so.
func systemName(name string) error {
	if !filepath.IsLocal(name) || strings.ContainsRune(name, ':') ||
		strings.TrimRight(name, ". ") != name {
		return errOtherName
	}
	return nil
}
