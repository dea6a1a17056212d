//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// parentOf is splitLast for a path whose last element is a name.
func parentOf(path string) (at, base string, ok bool) {
	at, base = splitLast(path)
	return at, base, strings.IndexByte(path, 0) < 0 && element(base) == nil
}

// Within is explained at the function.
func (osFS) Within(path string, dir Dir, self Info) (base string, info Info, is, ok bool) {
	d, ours := dir.(*osDir)
	at, base, named := parentOf(path)
	if !ours || !named {
		return "", info, false, false
	}
	if at == "" {
		at = "."
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat(at, &st) }); err != nil ||
		uint64(st.Dev) != self.Device || uint64(st.Ino) != self.Inode {
		return "", info, false, false
	}
	info, is, err := d.glance(base)
	return base, info, is, err == nil && info.Mode&fs.ModeSymlink == 0
}

// openParent is explained at OpenParent.
func (osFS) openParent(path string) (Dir, string, bool) {
	at, base, ok := parentOf(path)
	if !ok {
		return nil, "", false
	}
	if at == "" || at[0] != '/' {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, "", false
		}
		at = join(cwd, at)
	}
	fd, pathOnly, real, err := openReal(at)
	if err != nil {
		return nil, "", false
	}
	var st unix.Stat_t
	err = retry(func() error { return fstatat(fd, base, &st) })
	if err != unix.ENOENT && (err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK) {
		unix.Close(fd)
		return nil, "", false
	}
	d := &osDir{path: at, pathOnly: pathOnly, lazy: lazyPath{wanted: true, noLinks: real},
		fd: descriptor{fd: fd}}
	if d.there = err == nil; d.there {
		d.last.set(&st)
	}
	return d, base, true
}

// found is explained at Found.
func (d *osDir) found(name string) (info Info, is bool, err error) {
	if !d.lazy.wanted { // nothing was looked at when it was opened
		return d.glance(name)
	}
	return d.last, d.there, nil
}

// lazyPath is the real path of a directory that may have been opened by another spelling.
type lazyPath struct {
	wanted  bool // false: the path by which it was opened is the real one
	noLinks bool // it had no links in it then
	once    sync.Once
	real    string
}

// Path resolves the path of a directory that openParent opened. Where a link in it has changed
// since, so that it leads elsewhere, the system is asked where the directory is; where it does not
// say, it is the path by which the directory was found.
func (d *osDir) Path() string {
	if !d.lazy.wanted {
		return d.path
	}
	d.lazy.once.Do(func() {
		d.lazy.real = filepath.Clean(d.path)
		if d.lazy.noLinks {
			return
		}
		self, selfErr := d.Self()
		leadsHere := func(path string, err error) bool {
			var st unix.Stat_t
			if err != nil || unix.Stat(path, &st) != nil {
				return false
			}
			var there Info
			there.set(&st)
			return selfErr != nil || self.SameFile(there) // closed: there is nothing to compare
		}
		if real, err := filepath.EvalSymlinks(d.path); leadsHere(real, err) {
			d.lazy.real = real
		} else if real, err := d.whereabouts(); leadsHere(real, err) {
			d.lazy.real = real
		}
	})
	return d.lazy.real
}
