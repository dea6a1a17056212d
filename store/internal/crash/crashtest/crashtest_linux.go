//go:build amd64 || arm64

package crashtest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported says whether processes can be made to crash and fail here.
const Supported = true

// steps are the system calls that change what is on disk, or who may.
var steps = []uintptr{unix.SYS_OPENAT, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_RENAMEAT2,
	unix.SYS_RENAMEAT, unix.SYS_UNLINKAT, unix.SYS_LINKAT, unix.SYS_FTRUNCATE, unix.SYS_FCHMOD,
	unix.SYS_FCNTL}

var calls = map[string][]uintptr{
	"flush":  {unix.SYS_FSYNC, unix.SYS_FDATASYNC},
	"write":  {unix.SYS_PWRITE64},
	"rename": {unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2},
}

func filter(action uint32, numbers []uintptr) []unix.SockFilter {
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number
	for i, n := range numbers {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
			K: uint32(n), Jt: uint8(len(numbers) - i)})
	}
	return append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

func install(prog []unix.SockFilter, flags uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC|flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// Fail makes all calls of a kind of this process fail with errno from now on: "flush", "write" (at
// an offset, as files are written) or "rename".
func Fail(kind string, errno syscall.Errno) error {
	_, err := install(filter(unix.SECCOMP_RET_ERRNO|uint32(errno), calls[kind]), 0)
	return err
}

type question struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// KillAt kills this process, as kill -9 does, before its n-th step from now on: a system call that
// changes files or takes locks. count returns how many there were.
func KillAt(n int) (count func() int, err error) { return watch(steps, n) }

// looking are the system calls that only look.
var looking = []uintptr{unix.SYS_GETDENTS64, unix.SYS_FSTAT, unix.SYS_PREAD64, unix.SYS_MKDIRAT,
	map[string]uintptr{"amd64": 262, "arm64": 79}[runtime.GOARCH]} // newfstatat, fstatat

// Count counts the system calls of this process that are about files from now on: all, but for
// reads and writes at no offset, which pipes have too, when kind is "", else those of that kind,
// see Fail.
func Count(kind string) (count func() int, err error) {
	if kind != "" {
		return watch(calls[kind], -1)
	}
	return watch(slices.Concat(steps, looking), -1)
}

// watch is told of system calls, and kills this process before the n-th.
func watch(calls []uintptr, n int) (count func() int, err error) {
	fd, err := install(filter(unix.SECCOMP_RET_USER_NOTIF, calls),
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH)
	if err != nil {
		return nil, err
	}
	var seen atomic.Int64
	go func() {
		runtime.LockOSThread()
		for {
			var q question
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd),
				unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q)))
			if errno != 0 {
				continue // the thread was interrupted, and asks again
			}
			if seen.Add(1) == int64(n) {
				unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			a := answer{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
			unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND,
				uintptr(unsafe.Pointer(&a)))
		}
	}()
	return func() int { return int(seen.Load()) }, nil
}
