//go:build amd64 || arm64

package lockfile_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// A tap stops a child before each of its file operations, and the test decides what becomes of it:
// go on, fail with an errno, wait, or be killed there. It is a seccomp filter whose questions the
// test answers, so it needs no tracer, no root and no help from the code under test.

// sysFilter is one rule of a filter: a system call, and what one of its arguments must be.
type sysFilter struct {
	call  uintptr
	arg   int // -1: any arguments
	op    int // isValue, notValue, above
	value uint32
}

const (
	isValue = iota
	notValue
	above
)

// compile makes a program that answers action to the calls of the rules.
func compile(rules []sysFilter, action uint32) []unix.SockFilter {
	var prog []unix.SockFilter
	for _, r := range rules {
		block := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: action}}
		if r.arg >= 0 {
			test := unix.SockFilter{
				Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.value, Jf: 1}
			switch r.op {
			case notValue:
				test.Jt, test.Jf = 1, 0
			case above:
				test.Code = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
			}
			load := unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS,
				K: uint32(16 + 8*r.arg)}
			block = append([]unix.SockFilter{load, test}, block...)
		}
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(r.call),
				Jf: uint8(len(block))})
		prog = append(prog, block...)
	}
	return append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// install puts a filter on all threads of this process. It cannot be taken off again.
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

// failCalls makes system calls of this process fail from now on.
func failCalls(errno syscall.Errno, rules ...sysFilter) error {
	_, err := install(compile(rules, unix.SECCOMP_RET_ERRNO|uint32(errno)), 0)
	return err
}

// statAt has another name on every machine.
var statAt = map[string]uintptr{"amd64": 262, "arm64": 79}[runtime.GOARCH]

var tapped = []sysFilter{
	{unix.SYS_OPENAT, 0, notValue, uint32(unix.AT_FDCWD & 0xffffffff)},
	{unix.SYS_WRITE, 0, above, 2},
	{unix.SYS_FCNTL, 1, isValue, unix.F_OFD_SETLK},
	{unix.SYS_FCNTL, 1, isValue, unix.F_OFD_GETLK},
	{statAt, 0, notValue, uint32(unix.AT_FDCWD & 0xffffffff)},
	{call: unix.SYS_FSTAT, arg: -1}, {call: unix.SYS_PREAD64, arg: -1},
	{call: unix.SYS_PWRITE64, arg: -1}, {call: unix.SYS_FSYNC, arg: -1},
	{call: unix.SYS_RENAMEAT2, arg: -1}, {call: unix.SYS_RENAMEAT, arg: -1},
	{call: unix.SYS_UNLINKAT, arg: -1}, {call: unix.SYS_LINKAT, arg: -1},
	{call: unix.SYS_FTRUNCATE, arg: -1}, {call: unix.SYS_FCHMOD, arg: -1},
	{call: unix.SYS_FCHOWN, arg: -1},
}

// tapSelf is the child's half: it returns the number of the descriptor that asks the questions.
func tapSelf() (int, error) {
	return install(compile(tapped, unix.SECCOMP_RET_USER_NOTIF),
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|
			unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

// sayDone tells the tap that what was asked for is done: a call that means nothing.
func sayDone() { _ = unix.Ftruncate(-1, 0) }

type tap struct {
	t     testing.TB
	child *probetest.Child
	dir   string
	fd    int
}

// newTap takes the questions of a child that called tapSelf, about files in dir. fd is what that
// returned.
func newTap(t testing.TB, child *probetest.Child, dir, fd string) *tap {
	t.Helper()
	n, err := strconv.Atoi(fd)
	if err != nil {
		t.Skip("no seccomp notifications here: " + fd)
	}
	pidfd, err := unix.PidfdOpen(child.PID(), 0)
	if err != nil {
		t.Skip("no pidfd here: " + err.Error())
	}
	defer unix.Close(pidfd)
	k := &tap{t: t, child: child, dir: dir}
	if k.fd, err = unix.PidfdGetfd(pidfd, n, 0); err != nil {
		t.Skip("a child's descriptors cannot be had here: " + err.Error())
	}
	t.Cleanup(func() { unix.Close(k.fd) })
	return k
}

// step is a file operation that a child is about to do.
type step struct {
	id   uint64
	pid  int // of the thread
	call uintptr
	args [6]uint64
	text string // "rename-noreplace S.lock.*.tmp S.lock"
}

type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// next waits for the next operation. It returns false when the child is done, or ended.
func (k *tap) next() (step, bool) {
	k.t.Helper()
	for {
		switch asks, ended := k.poll(probetest.Patience); {
		case ended:
			return step{}, false
		case !asks:
			k.t.Fatalf("the child did nothing for %v", probetest.Patience)
		}
		if s, what := k.receive(); what != otherwise {
			return s, what == asked
		}
	}
}

const (
	asked     = iota // about a step, which waits for its answer
	done             // the child said that it is done
	otherwise        // about nothing of ours
)

// receive takes one question, after poll. Those that are not about a step are answered.
func (k *tap) receive() (s step, what int) {
	k.t.Helper()
	var q notification
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.fd), unix.SECCOMP_IOCTL_NOTIF_RECV,
		uintptr(unsafe.Pointer(&q)))
	switch errno {
	case 0:
	case unix.ENOENT, unix.EINTR: // the thread was interrupted, and asks again
		return step{}, otherwise
	default:
		k.t.Fatal("seccomp: ", errno)
	}
	s = step{id: q.id, pid: int(q.pid), call: uintptr(q.nr), args: q.args}
	switch {
	case s.call == unix.SYS_FTRUNCATE && int32(s.args[0]) == -1:
		k.fail(s, unix.EBADF)
		return step{}, done
	case k.describe(&s):
		return s, asked
	}
	k.allow(s)
	return step{}, otherwise
}

// poll waits for a question, or for the end of the child.
func (k *tap) poll(patience time.Duration) (asks, ended bool) {
	k.t.Helper()
	for {
		fds := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, int(patience.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		noError(k.t, err)
		asks = fds[0].Revents&unix.POLLIN != 0
		return asks, !asks && fds[0].Revents != 0
	}
}

// meanwhile lets the child go on with whatever it does in the background, while the test does
// something else.
func (k *tap) meanwhile(do func()) {
	k.t.Helper()
	defer k.serve()()
	do()
}

// serve lets the child do everything, until it is stopped.
func (k *tap) serve() (end func()) {
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			asks, ended := k.poll(10 * time.Millisecond)
			if ended {
				return
			}
			if asks {
				if s, what := k.receive(); what == asked {
					k.allow(s)
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// describe says what a step is, and whether it is about a file in the tap's directory.
func (k *tap) describe(s *step) bool {
	link, err := os.Readlink(s.file())
	if err != nil || !strings.HasPrefix(link, k.dir) {
		return false
	}
	file := strings.TrimPrefix(strings.TrimPrefix(link, k.dir), "/")
	name := func(arg int) string { return readString(s.pid, uintptr(s.args[arg])) }
	switch s.call {
	case unix.SYS_OPENAT:
		switch flags := int(s.args[2]); {
		case flags&unix.O_TMPFILE == unix.O_TMPFILE:
			s.text = "create-unnamed"
		case flags&unix.O_CREAT != 0:
			s.text = "create " + name(1)
		default:
			s.text = "open " + name(1)
		}
	case unix.SYS_RENAMEAT2:
		how := map[uint64]string{unix.RENAME_NOREPLACE: "rename-noreplace",
			unix.RENAME_EXCHANGE: "exchange"}[s.args[4]]
		s.text = how + " " + name(1) + " " + name(3)
	case unix.SYS_RENAMEAT:
		s.text = "rename " + name(1) + " " + name(3)
	case unix.SYS_LINKAT:
		s.text = "link " + name(1) + " " + name(3)
	case unix.SYS_UNLINKAT:
		s.text = "remove " + name(1)
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		s.text = "write " + file
	case unix.SYS_FSYNC:
		s.text = "flush " + file
	case unix.SYS_FTRUNCATE:
		s.text = "truncate " + file
	case unix.SYS_FCNTL:
		if s.text = "lock " + file; s.args[1] == unix.F_OFD_GETLK {
			s.text = "test-lock " + file
		}
	case unix.SYS_FSTAT:
		s.text = "look-at-open " + file
	case unix.SYS_PREAD64:
		s.text = "read " + file
	case statAt:
		s.text = "look-at " + name(1)
	default:
		s.text = "chmod-chown " + file
	}
	s.text = random.ReplaceAllString(s.text, "$1*")
	return true
}

var random = regexp.MustCompile(`(\.|#|recovered-)[0-9a-f]{5,24}( \(deleted\))?`)

func (k *tap) allow(s step) {
	k.answer(response{id: s.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

func (k *tap) fail(s step, errno syscall.Errno) {
	k.answer(response{id: s.id, error: -int32(errno)})
}

func (k *tap) answer(r response) {
	k.t.Helper()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.fd), unix.SECCOMP_IOCTL_NOTIF_SEND,
		uintptr(unsafe.Pointer(&r)))
	if errno != 0 && !errors.Is(errno, unix.ENOENT) {
		k.t.Fatal("seccomp: ", errno)
	}
}

// run lets the child do what it was told, until it is done or ended. decide is asked before every
// step; it returns an errno to let it fail, 0 to let it happen, or kill.
func (k *tap) run(decide func(s step) syscall.Errno) {
	k.t.Helper()
	for {
		s, ok := k.next()
		if !ok {
			return
		}
		switch errno := decide(s); errno {
		case 0:
			k.allow(s)
		case killHere:
			k.child.Kill()
			return
		case shortHere:
			s.half(k.t)
			k.answer(response{id: s.id, val: int64(s.args[2] / 2)})
		default:
			k.fail(s, errno)
		}
	}
}

const (
	killHere  syscall.Errno = 0xffff // kill the child before the step
	shortHere syscall.Errno = 0xfffe // half of a write is done, and the call says so
)
