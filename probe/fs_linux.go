package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Filesystem implements System.
func (s *linuxSystem) Filesystem(handle uintptr) Filesystem {
	const source = "fstatfs()"
	st, err := fstatfs(int(handle))
	if err != nil {
		return Filesystem{Type: Unknown[string](source, err), ID: Unknown[string](source, err)}
	}
	name := linuxFilesystem(magic(st))
	fs := Filesystem{Type: Known(name, source), Local: localFilesystem(name)}
	if id := st.Fsid.Val; id[0] != 0 || id[1] != 0 {
		fs.ID = Known(fmt.Sprintf("%08x%08x", uint32(id[0]), uint32(id[1])), source)
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
