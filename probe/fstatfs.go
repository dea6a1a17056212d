//go:build darwin || freebsd || dragonfly

package probe

import "golang.org/x/sys/unix"

// fstatfs reads the filesystem of a descriptor, where struct statfs has these fields.
func fstatfs(fd int) (mount, error) {
	var st unix.Statfs_t
	err := unix.Fstatfs(fd, &st)
	return mount{
		name:    unix.ByteSliceToString(st.Fstypename[:]),
		flagged: st.Flags&unix.MNT_LOCAL != 0,
		id:      st.Fsid.Val,
	}, err
}
