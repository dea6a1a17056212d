package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// kinfo is what this package uses of the structure with which macOS or a BSD describes one process
// in its process table. The decoders beside this file fill it in, one for each system's layout.
// They take any bytes: what does not fit the layout is an error, and never half an answer.
type kinfo struct {
	pid     int
	state   string // a word of Process.State, "" for a number that is not a known state
	number  int    // the state as the kernel has it
	exited  bool   // no thread runs any more; not reaped yet
	threads int    // -1: the structure does not say
	comm    string // the kernel's short name: bytes that somebody else chose
	start   kstart
}

// kstart is a time as two numbers of the kernel. What it means differs: see startRule.
type kstart struct {
	known     bool
	sec, usec int64
}

// valid reports whether the number of microseconds is one, and the time one that can be stored.
func (s kstart) valid() bool {
	return s.known && s.sec >= 0 && s.sec < maxSeconds && s.usec >= 0 && s.usec < 1e6
}

// maxSeconds is in the year 9999: nothing that is later is an honest start.
const maxSeconds = 253402300799

func (s kstart) time() time.Time { return time.Unix(s.sec, s.usec*1000).UTC() }

// table is the structure of one process as the kernel wrote it. Reading outside of it is a mistake
// in a decoder, which checks the length first.
type table struct {
	b     []byte
	order binary.ByteOrder // of the kernel that wrote it
}

func (t table) i8(at int) int     { return int(int8(t.b[at])) }
func (t table) i32(at int) int    { return int(int32(t.order.Uint32(t.b[at:]))) }
func (t table) u32(at int) uint32 { return t.order.Uint32(t.b[at:]) }
func (t table) i64(at int) int64  { return int64(t.order.Uint64(t.b[at:])) }

// text is a name that ends at its first NUL byte, or at its end.
func (t table) text(from, to int) string {
	name, _, _ := bytes.Cut(t.b[from:to], []byte{0})
	return string(name)
}

// sized returns the bytes as a table of exactly that length. A kernel that answers with another
// length has another layout.
func sized(b []byte, length int, order binary.ByteOrder) (table, error) {
	if len(b) != length {
		return table{}, fmt.Errorf("%d bytes of the process table where the known layout has %d",
			len(b), length)
	}
	return table{b, order}, nil
}

// checked refuses what no honest kernel says.
func (k kinfo) checked() (kinfo, error) {
	switch {
	case k.pid < 0:
		return kinfo{}, fmt.Errorf("process number %d in the process table", k.pid)
	case k.start.known && !k.start.valid():
		return kinfo{}, fmt.Errorf("a start of %d s and %d µs in the process table",
			k.start.sec, k.start.usec)
	case k.threads < -1:
		return kinfo{}, fmt.Errorf("%d threads in the process table", k.threads)
	}
	return k, nil
}

// States of 4.4BSD, which macOS, FreeBSD and OpenBSD have kept (sys/proc.h): SIDL, SRUN, SSLEEP,
// SSTOP, SZOMB.
var classicStates = map[int]string{
	1: "idle", 2: "running", 3: "sleeping", 4: "stopped", 5: "zombie",
}

// pTraced is P_TRACED of macOS, FreeBSD and NetBSD (sys/proc.h, sys/sysctl.h): a debugger has it.
const pTraced = 0x800

// traced says so of a stopped process that a debugger holds.
func traced(state string, flags uint64) string {
	if state == "stopped" && flags&pTraced != 0 {
		return "traced"
	}
	return state
}
