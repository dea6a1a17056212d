package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// ntLayout says where the fields of SYSTEM_PROCESS_INFORMATION are, and of the array of
// SYSTEM_THREAD_INFORMATION that follows each. Both are the C structures of ntexapi.h, as large as
// a pointer makes them; NextEntryOffset (0), NumberOfThreads (4) and CreateTime (32) are where they
// are in both.
type ntLayout struct {
	pointer                 int // size of a pointer
	name                    int // UNICODE_STRING: length in bytes (16 bits), and Buffer
	nameBuffer              int
	pid                     int
	size                    int // of all that comes before the threads
	threadState, waitReason int // within one thread
	threadSize              int
}

var (
	nt64 = ntLayout{pointer: 8, name: 56, nameBuffer: 64, pid: 80, size: 256,
		threadState: 68, waitReason: 72, threadSize: 80}
	nt32 = ntLayout{pointer: 4, name: 56, nameBuffer: 60, pid: 68, size: 184,
		threadState: 52, waitReason: 56, threadSize: 64}
)

// ntProcess is one process in the list of NtQuerySystemInformation(SystemProcessInformation).
type ntProcess struct {
	pid     uint64
	created uint64 // FILETIME
	threads int
	name    string // image name, "" where there is none
	state   string // running, sleeping, stopped; "" where the threads do not say
}

var errNTList = errors.New("the process list is malformed")

// parseNTProcesses decodes the list in b. base is the address that b had when the kernel wrote it:
// names are pointers into the buffer. Every offset and count is checked against the buffer, nothing
// is read through a pointer, and entries need not be aligned (Wine's are not). Anything that does
// not fit fails the whole list, but for a name: that one is left out.
func parseNTProcesses(b []byte, base uint64, l ntLayout) ([]ntProcess, error) {
	var list []ntProcess
	for {
		if len(b) < l.size {
			return nil, fmt.Errorf("%w: entry %d is cut short", errNTList, len(list))
		}
		entry := b
		next := binary.LittleEndian.Uint32(b)
		if next != 0 {
			if uint64(next) < uint64(l.size) || uint64(next) > uint64(len(b)) {
				return nil, fmt.Errorf("%w: entry %d says that the next one is %d bytes on",
					errNTList, len(list), next)
			}
			entry = b[:next]
		}
		threads := binary.LittleEndian.Uint32(b[4:])
		if uint64(threads)*uint64(l.threadSize) > uint64(len(entry)-l.size) {
			return nil, fmt.Errorf("%w: entry %d has no room for %d threads", errNTList,
				len(list), threads)
		}
		list = append(list, ntProcess{
			pid:     l.word(b[l.pid:]),
			created: binary.LittleEndian.Uint64(b[32:]),
			threads: int(threads),
			name:    l.imageName(entry, base),
			state:   l.state(b[l.size:][:int(threads)*l.threadSize]),
		})
		if next == 0 {
			return list, nil
		}
		b, base = b[next:], base+uint64(next)
	}
}

// word reads a number of the size of a pointer.
func (l ntLayout) word(b []byte) uint64 {
	if l.pointer == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// imageName reads the name of an entry that stands at address base. It lies behind the threads of
// its own entry, and counts only there.
func (l ntLayout) imageName(entry []byte, base uint64) string {
	length := uint64(binary.LittleEndian.Uint16(entry[l.name:]))
	at := l.word(entry[l.nameBuffer:]) - base // wraps when it lies before the entry
	if length == 0 || length%2 != 0 || at < uint64(l.size) || at > uint64(len(entry)) ||
		length > uint64(len(entry))-at {
		return ""
	}
	return utf16String(entry[at : at+length])
}

// utf16String decodes little-endian UTF-16 of an even length.
func utf16String(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// Thread states and wait reasons (KTHREAD_STATE, KWAIT_REASON of wdm.h).
const (
	ntStateInitialized = 0
	ntStateRunning     = 2
	ntStateTerminated  = 4
	ntStateWaiting     = 5

	ntWaitSuspended   = 5
	ntWaitWrSuspended = 12
)

// state makes one word of what all threads of a process do. A process is stopped when every thread
// that has not ended was suspended. Wine leaves all states at 0, which says nothing.
func (l ntLayout) state(threads []byte) string {
	live, suspended, running := 0, 0, 0
	for ; len(threads) > 0; threads = threads[l.threadSize:] {
		state := binary.LittleEndian.Uint32(threads[l.threadState:])
		reason := binary.LittleEndian.Uint32(threads[l.waitReason:])
		switch {
		case state == ntStateInitialized || state == ntStateTerminated:
			continue
		case state == ntStateRunning:
			running++
		case state == ntStateWaiting && (reason == ntWaitSuspended || reason == ntWaitWrSuspended):
			suspended++
		}
		live++
	}
	switch {
	case live == 0:
		return ""
	case suspended == live:
		return "stopped"
	case running > 0:
		return "running"
	default:
		return "sleeping"
	}
}

// parseNTProcessIDs decodes FILE_PROCESS_IDS_USING_FILE_INFORMATION: a 32-bit count, and that many
// process numbers of the size of a pointer, aligned as one.
func parseNTProcessIDs(b []byte, l ntLayout) ([]uint64, error) {
	if len(b) < l.pointer {
		return nil, errors.New("the list of processes that use the file is cut short")
	}
	n := binary.LittleEndian.Uint32(b)
	b = b[l.pointer:]
	if uint64(n) > uint64(len(b)/l.pointer) {
		return nil, fmt.Errorf("the list of %d processes that use the file is cut short", n)
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = l.word(b[i*l.pointer:])
	}
	return ids, nil
}
