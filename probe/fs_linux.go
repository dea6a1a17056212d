package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// namedFS is what a filesystem is called by what the kernel said of it.
type namedFS struct {
	magic uint32
	id    [2]int32
	is    Filesystem
}

// Filesystem implements System.
func (s *linuxSystem) Filesystem(handle uintptr) Filesystem {
	const source = "fstatfs()"
	st, err := fstatfs(int(handle))
	if err != nil {
		return Filesystem{Type: Unknown[string](source, err), ID: Unknown[string](source, err)}
	}
	kind, id := magic(st), st.Fsid.Val
	last := s.lastFS.Load()
	if last != nil && last.magic == kind && last.id == id {
		return last.is
	}
	name := linuxFilesystem(kind)
	fs := Filesystem{Type: Known(name, source), Local: localFilesystem(name)}
	if id[0] != 0 || id[1] != 0 {
		fs.ID = Known(filesystemID(id), source)
		s.lastFS.Store(&namedFS{kind, id, fs})
		return fs
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(handle), &stat); err != nil {
		fs.ID = Unknown[string]("fstat()", err)
		return fs
	}
	dev := uint64(stat.Dev)
	fs.ID = Known(fmt.Sprintf("dev:%d:%d", unix.Major(dev), unix.Minor(dev)), "fstat()")
	return fs
}
