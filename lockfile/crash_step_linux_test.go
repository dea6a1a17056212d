//go:build amd64 || arm64

package lockfile_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/probate-dev/probate/probe/probetest"
	"golang.org/x/sys/unix"
)

// This file is about one step that a tapped child is about to take.

func readString(pid int, at uintptr) string {
	buf := make([]byte, 300)
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: len(buf)}}, 0)
	if err != nil { // the page after the string may be missing
		local[0].Len = uint64(min(len(buf), int(4096-at%4096)))
		remote := []unix.RemoteIovec{{Base: at, Len: int(local[0].Len)}}
		n, _ = unix.ProcessVMReadv(pid, local, remote, 0)
	}
	s, _, _ := bytes.Cut(buf[:max(n, 0)], []byte{0})
	return string(s)
}

// file is the way to the file that a step is about.
func (s step) file() string { return fmt.Sprintf("/proc/%d/fd/%d", s.pid, int32(s.args[0])) }

// half does the first half of a write, as a crash may.
func (s step) half(t probetest.TB) {
	t.Helper()
	buf := make([]byte, s.args[2]/2)
	_, err := unix.ProcessVMReadv(s.pid, []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}},
		[]unix.RemoteIovec{{Base: uintptr(s.args[1]), Len: len(buf)}}, 0)
	noError(t, err)
	how := os.O_WRONLY
	if s.call == unix.SYS_WRITE {
		how |= os.O_APPEND
	}
	f, err := os.OpenFile(s.file(), how, 0)
	noError(t, err)
	defer f.Close()
	if s.call == unix.SYS_WRITE {
		_, err = f.Write(buf)
	} else {
		_, err = f.WriteAt(buf, int64(s.args[3]))
	}
	noError(t, err)
}

func (s step) writes() bool { return s.call == unix.SYS_WRITE || s.call == unix.SYS_PWRITE64 }

// verb is the first word of what a step does.
func (s step) verb() string {
	verb, _, _ := strings.Cut(s.text, " ")
	return verb
}

// changes reports whether a step changes what is on the disk.
func (s step) changes() bool {
	switch s.verb() {
	case "open", "lock", "test-lock", "look-at", "look-at-open", "read":
		return false
	}
	return true
}
