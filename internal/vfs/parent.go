package vfs

import (
	"errors"
	"io/fs"
	"slices"
)

// OpenParent opens the directory of path and returns the last element, like Resolve and OpenDir,
// but leaves the way there to the system, which follows it in one call; Dir.Path resolves it when
// somebody asks. False where that is not enough: the last element is a link, there is no such
// directory, the name is not one. Resolve does it then, or says why not.
func OpenParent(files FS, path string) (dir Dir, base string, ok bool) {
	if o, can := files.(interface {
		openParent(path string) (Dir, string, bool)
	}); can {
		return o.openParent(path)
	}
	return nil, "", false
}

// Found is Glance at the last element of the path by which OpenParent has just opened dir: it says
// what was seen then.
func Found(dir Dir, base string) (info Info, is bool, err error) {
	if d, can := dir.(interface {
		found(name string) (Info, bool, error)
	}); can {
		return d.found(base)
	}
	return Glance(dir, base)
}

// OpenSeen is dir.Open for reading, for who has just looked at name and saw a regular file: it may
// do without looking again before it opens.
func OpenSeen(dir Dir, name string) (File, error) {
	if d, can := dir.(interface {
		openSeen(name string) (File, error)
	}); can {
		return d.openSeen(name)
	}
	return dir.Open(name, Read)
}

// Within is OpenParent and Found for a path that leads into a directory that is open already: self
// is what dir.Self says. False where it leads elsewhere, or its last element is a link, or that
// cannot be told.
func Within(files FS, path string, dir Dir, self Info) (base string, info Info, is, ok bool) {
	if o, can := files.(interface {
		Within(path string, dir Dir, self Info) (string, Info, bool, bool)
	}); can {
		return o.Within(path, dir, self)
	}
	return "", Info{}, false, false
}

// Glance is dir.Stat for who does not mind that there is no such name: is says whether there is
// one.
func Glance(dir Dir, name string) (info Info, is bool, err error) {
	if d, can := dir.(interface {
		glance(name string) (Info, bool, error)
	}); can {
		return d.glance(name)
	}
	info, err = dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return info, false, nil
	}
	return info, err == nil, err
}

// NamesWith returns the names in dir that begin with base and then one of some texts, unsorted.
func NamesWith(dir Dir, base string, then []string) ([]string, error) {
	if d, can := dir.(interface {
		namesWith(base string, then []string) ([]string, error)
	}); can {
		return d.namesWith(base, then)
	}
	names, err := dir.Names()
	return slices.DeleteFunc(names, func(name string) bool {
		return !beginsWith([]byte(name), base, then)
	}), err
}

func beginsWith(name []byte, base string, then []string) bool {
	if len(name) < len(base) || string(name[:len(base)]) != base {
		return false
	}
	rest := name[len(base):]
	for _, t := range then {
		if len(rest) >= len(t) && string(rest[:len(t)]) == t {
			return true
		}
	}
	return false
}

// Park lets the descriptor of a directory go, until the directory is used again. in is an open file
// in it, by which the directory is found again where it has moved. Nothing happens where that is
// not possible.
func Park(dir Dir, in File) {
	if d, can := dir.(interface{ park(in File) }); can {
		d.park(in)
	}
}

// Opened returns what was seen of f when it was opened or created, or looks where nothing was:
// Device and Inode are as they are now, the rest may have changed.
func Opened(f File) (Info, error) {
	if o, can := f.(interface{ opened() (Info, bool) }); can {
		if info, ok := o.opened(); ok {
			return info, nil
		}
	}
	return f.Stat()
}
