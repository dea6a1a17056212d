package vfs

import (
	"bytes"
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// Where what is in a struct linux_dirent64, see getdents64(2).
const (
	direntSize = 16 // two bytes: of this entry
	direntName = 19 // NUL-terminated
)

var direntBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// namesWith is explained at NamesWith. It makes strings only of the names that are wanted.
func (d *osDir) namesWith(base string, then []string) ([]string, error) {
	var names []string
	err := d.fd.use(func(fd int) error {
		names = names[:0]
		// Opened anew: the position in a directory belongs to the open file description.
		n, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(n)
		buf := direntBuffers.Get().(*[16 << 10]byte)
		defer direntBuffers.Put(buf)
		for {
			var size int
			err := retry(func() (err error) {
				size, err = unix.Getdents(n, buf[:])
				return err
			})
			if err != nil || size <= 0 {
				return err
			}
			names = appendNames(names, buf[:size], base, then)
		}
	})
	return names, pathError("list", d.path, err)
}

// appendNames appends those names of directory entries that begin with base and one of some texts.
func appendNames(names []string, entries []byte, base string, then []string) []string {
	for len(entries) > direntName {
		size := int(binary.NativeEndian.Uint16(entries[direntSize:]))
		if size <= direntName || size > len(entries) {
			break // not what the kernel writes
		}
		name := entries[direntName:size]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if beginsWith(name, base, then) && string(name) != "." && string(name) != ".." {
			names = append(names, string(name))
		}
		entries = entries[size:]
	}
	return names
}
