//go:build amd64 || arm64

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inject makes a system call fail with errno from now on, in the whole process, where its argument
// arg has that value (arg < 0: always). A later injection comes before an earlier one. This is what
// seccomp is for, and it needs no help from the code under test.
func inject(call uintptr, arg int, value uint32, errno syscall.Errno) error {
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(call), Jt: 0, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(16 + 8*max(arg, 0))},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if arg < 0 {
		prog[3] = unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 0}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	return nil
}

func init() {
	children["inject"] = func(args []string) error {
		d, err := OS().OpenDir(args[0])
		if err != nil {
			return err
		}
		f, err := write(d, "a", "A")
		if err != nil {
			return err
		}
		u, err := d.CreateUnnamed(0o600)
		if err != nil {
			return err
		}
		dirfd, fd := uint32(d.Handle()), uint32(f.Handle())
		const (
			real = iota // the errno as it is
			none        // matches ErrUnsupported, and nothing but it and the errno
			held        // ErrLocked
			kind        // ErrNotRegular
		)
		lock := func() error { return f.Lock(LockOFD) }
		flock := func() error { return f.Lock(LockFlock) }
		locked := func() error { return second(f.Locked(LockOFD)) }
		rename := func() error { return d.RenameNoReplace("a", "b") }
		swap := func() error { return d.Exchange("a", "b") }
		link := func() error { return d.Link("a", "b") }
		open := func() error { return second(d.Open("a", ReadWrite)) }
		unnamed := func() error { return second(d.CreateUnnamed(0o600)) }
		linkUnnamed := func() error { return d.LinkUnnamed(u, "c") }
		for _, c := range []struct {
			do    func() error
			call  uintptr
			arg   int
			value uint32
			errno syscall.Errno
			want  int
		}{
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.ENOLCK, none},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.ENOSYS, none},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EOPNOTSUPP, none},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EBADF, none},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EINVAL, none},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EAGAIN, held},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EACCES, real},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EIO, real},
			{lock, unix.SYS_FCNTL, 1, unix.F_OFD_SETLK, unix.EINTR, real},
			{flock, unix.SYS_FLOCK, -1, 0, unix.ENOLCK, none},
			{flock, unix.SYS_FLOCK, -1, 0, unix.EBADF, none},
			{flock, unix.SYS_FLOCK, -1, 0, unix.EWOULDBLOCK, held},
			{flock, unix.SYS_FLOCK, -1, 0, unix.EINTR, real},
			{locked, unix.SYS_FCNTL, 1, unix.F_OFD_GETLK, unix.ENOLCK, none},
			{locked, unix.SYS_FCNTL, 1, unix.F_OFD_GETLK, unix.EIO, real},
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.ENOSYS, none},
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.EINVAL, none},
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.EOPNOTSUPP, none},
			{rename, unix.SYS_RENAMEAT2, 0, dirfd, unix.EPERM, real}, // the directory's
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.EPERM, none},    // the call's
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.EACCES, real},
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.EROFS, real},
			{rename, unix.SYS_RENAMEAT2, -1, 0, unix.ESTALE, real},
			{swap, unix.SYS_RENAMEAT2, -1, 0, unix.EINVAL, none},
			{swap, unix.SYS_RENAMEAT2, -1, 0, unix.EINTR, real},
			{link, unix.SYS_LINKAT, -1, 0, unix.EPERM, none},
			{link, unix.SYS_LINKAT, -1, 0, unix.EOPNOTSUPP, none},
			{link, unix.SYS_LINKAT, -1, 0, unix.EMLINK, real},
			{link, unix.SYS_LINKAT, -1, 0, unix.EXDEV, real},
			{linkUnnamed, unix.SYS_LINKAT, -1, 0, unix.EIO, real},
			{unnamed, unix.SYS_OPENAT, 0, dirfd, unix.EISDIR, none},
			{unnamed, unix.SYS_OPENAT, 0, dirfd, unix.EOPNOTSUPP, none},
			{unnamed, unix.SYS_OPENAT, 0, dirfd, unix.EINVAL, none},
			{unnamed, unix.SYS_OPENAT, 0, dirfd, unix.ENOENT, none},
			{unnamed, unix.SYS_OPENAT, 0, dirfd, unix.ENOSPC, real},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.ELOOP, kind},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.ENXIO, kind},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.EISDIR, kind},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.ENODEV, kind},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.EACCES, real},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.EIO, real},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.ESTALE, real},
			{open, unix.SYS_OPENAT, 0, dirfd, unix.EINTR, real}, // for ever
			{f.Sync, unix.SYS_FSYNC, 0, fd, unix.EIO, real},
			{d.Sync, unix.SYS_FSYNC, 0, dirfd, unix.EINVAL, none},
			{d.Sync, unix.SYS_FSYNC, 0, dirfd, unix.EIO, real},
			{func() error { return second(f.WriteAt([]byte("B"), 0)) }, unix.SYS_PWRITE64, -1, 0, unix.EINTR,
				real},
			{func() error { return second(f.ReadAt(make([]byte, 1), 0)) }, unix.SYS_PREAD64, -1, 0,
				unix.ESTALE, real},
		} {
			if err := inject(c.call, c.arg, c.value, c.errno); err != nil {
				return err
			}
			err := c.do()
			errno, has := errors.AsType[syscall.Errno](err)
			ok := err != nil
			switch c.want {
			case real:
				ok = ok && has && errno == c.errno && !errors.Is(err, ErrNotRegular) &&
					!errors.Is(err, ErrLocked) && !errors.Is(err, errors.ErrUnsupported) &&
					Stale(err) == (c.errno == unix.ESTALE)
			case none:
				ok = ok && has && errno == c.errno && errors.Is(err, errors.ErrUnsupported) &&
					errors.Is(err, c.errno) && !errors.Is(err, fs.ErrPermission) &&
					!errors.Is(err, fs.ErrNotExist)
			case held:
				ok = ok && errors.Is(err, ErrLocked)
			case kind:
				ok = ok && errors.Is(err, ErrNotRegular)
			}
			if !ok {
				return fmt.Errorf("call %d with %v: got %v", c.call, c.errno, err)
			}
		}
		return nil
	}
}

// Every errno means what it says: held, not possible here, not a file, or itself. None is taken for
// another, and a call that is interrupted for ever ends.
func TestErrnos(t *testing.T) {
	begin(t, command(t, "inject", openTemp(t, "").Path())).expect("done")
}
