package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// localMounts are, for each system that gives filesystems names, the types of which a mounted
// instance belongs to one kernel. What passes requests on to somewhere else (FUSE, nullfs, union
// mounts, the shares of virtual machines) is not among them, whatever its mount flags claim.
var localMounts = map[string]map[string]bool{
	"darwin":  set("apfs", "hfs", "msdos", "exfat", "ntfs", "udf", "cd9660", "tmpfs"),
	"freebsd": set("ufs", "zfs", "tmpfs", "msdosfs", "ext2fs", "cd9660", "udf"),
	"openbsd": set("ffs", "mfs", "tmpfs", "msdos", "ext2fs", "cd9660", "udf", "ntfs"),
	"netbsd": set("ffs", "lfs", "mfs", "tmpfs", "zfs", "msdos", "ext2fs", "cd9660", "udf", "ntfs",
		"v7fs", "efs"),
	"dragonfly": set("ufs", "hammer", "hammer2", "tmpfs", "msdos", "ext2fs", "cd9660", "udf",
		"ntfs"),
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// localMount reports whether a mounted filesystem of that type is known to belong to one kernel.
// flagged is MNT_LOCAL of the mount: the kernel's own word, which alone is not enough.
func localMount(os, name string, flagged bool) bool { return flagged && localMounts[os][name] }

// mount is what statfs(2) says about a filesystem on macOS and the BSDs.
type mount struct {
	name    string // f_fstypename
	flagged bool   // MNT_LOCAL
	id      [2]int32
}

// filesystemID is f_fsid as 16 hexadecimal digits.
func filesystemID(id [2]int32) string {
	var b [8]byte
	binary.BigEndian.PutUint32(b[:], uint32(id[0]))
	binary.BigEndian.PutUint32(b[4:], uint32(id[1]))
	var text [16]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// filesystemOf makes facts of a mount. device is asked only where the filesystem has no id.
func filesystemOf(os, source string, m mount, device func() (string, error)) Filesystem {
	fs := Filesystem{Type: Known(m.name, source), Local: localMount(os, m.name, m.flagged)}
	if m.name == "" {
		fs.Type = Unknown[string](source, fmt.Errorf("the filesystem has no type"))
	}
	if m.id[0] != 0 || m.id[1] != 0 {
		fs.ID = Known(filesystemID(m.id), source)
		return fs
	}
	dev, err := device()
	if err != nil {
		fs.ID = Unknown[string]("fstat()", err)
		return fs
	}
	fs.ID = Known("dev:"+dev, "fstat()")
	return fs
}
