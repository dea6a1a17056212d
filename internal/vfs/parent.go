package vfs

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
