package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrNotGenuine is the reason of a fact that can be read but does not come from the kernel, such as
// a boot id file that a container manager mounted over the real one.
var ErrNotGenuine = errors.New("not genuine")

// ErrUntrusted is the reason of a fact that would have to come from a /proc that does not describe
// the processes of this pid namespace, hides some of them, or is not there.
var ErrUntrusted = errors.New("/proc cannot be trusted")

// Fact is one value that the operating system was asked for, or the reason why there is none. The
// zero Fact is unknown. Two unknown facts are never equal to one another, and never different.
type Fact[T any] struct {
	Value  T      // meaningful only when Known
	Known  bool   // false: the fact could not be read, Err says why
	Source string // where it comes from: a path, a system call
	Err    error  // why it could not be read; nil when Known
}

// Known returns the fact that source says v.
func Known[T any](v T, source string) Fact[T] {
	return Fact[T]{Value: v, Known: true, Source: source}
}

// Unknown returns the fact that source could not be read, and why.
func Unknown[T any](source string, why error) Fact[T] {
	return Fact[T]{Source: source, Err: why}
}

// String returns the value, or "unknown (reason)".
func (f Fact[T]) String() string {
	if f.Known {
		return fmt.Sprint(f.Value)
	}
	if f.Err == nil {
		return "unknown (not read)"
	}
	return "unknown (" + f.Err.Error() + ")"
}

// MarshalJSON writes {"value":…,"source":…} or {"unknown":"why","source":…}.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	if f.Known {
		return json.Marshal(struct {
			Value  T      `json:"value"`
			Source string `json:"source,omitempty"`
		}{f.Value, f.Source})
	}
	why := "not read"
	if f.Err != nil {
		why = f.Err.Error()
	}
	return json.Marshal(struct {
		Unknown string `json:"unknown"`
		Source  string `json:"source,omitempty"`
	}{why, f.Source})
}

// Start is the kernel's own start value of a process with its kind, such as "ticks:15234". It is
// never derived from the wall clock, and two values mean the same only if they are equal and of one
// kind. The zero Start is not valid.
//
//	ticks:<n>           Linux: clock ticks (10 ms) since boot, field 22 of /proc/<pid>/stat, as
//	                    from a time namespace
//	usec:<sec>.<usec>   macOS, NetBSD: start in the process table, wall time of the fork
//	uptime:<n>          FreeBSD: microseconds from the boot to the start
//	filetime:<n>        Windows: creation time, 100 ns units since 1601
type Start string

// Ticks returns the Linux start value of n clock ticks since boot.
func Ticks(n uint64) Start {
	var buf [32]byte
	return Start(strconv.AppendUint(append(buf[:0], "ticks:"...), n, 10))
}

// Kind returns the part before the colon, or "" when s is not valid.
func (s Start) Kind() string {
	if !s.Valid() {
		return ""
	}
	kind, _, _ := strings.Cut(string(s), ":")
	return kind
}

// Valid reports whether s is a kind, a colon, and a canonical decimal value (usec: two, with a
// dot). Kinds that this version does not know are valid too: they are only equal to themselves.
func (s Start) Valid() bool {
	kind, value, ok := strings.Cut(string(s), ":")
	if !ok || kind == "" || value == "" || len(s) > 64 {
		return false
	}
	for _, r := range kind {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	if kind == "usec" {
		sec, usec, ok := strings.Cut(value, ".")
		return ok && canonicalDecimal(sec) && len(usec) == 6 && allDigits(usec)
	}
	return canonicalDecimal(value)
}

// canonicalDecimal accepts what a kernel's 64-bit counter can hold, in its only spelling.
func canonicalDecimal(s string) bool {
	if !allDigits(s) || len(s) > 1 && s[0] == '0' {
		return false
	}
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Presence says whether a process number belongs to a process. The zero value is unknown.
type Presence int

const (
	PresenceUnknown Presence = iota // could not be found out; Readings say why
	// a process has the number and has not exited; stopped and frozen count
	Running
	// the process has exited and no thread of it runs; not reaped yet
	Exited
	Missing // the kernel knows no such process
	// the number belongs to a thread that is not the leader of its process
	ThreadOnly
)

// String returns "unknown", "running", "exited", "missing" or "thread-only".
func (p Presence) String() string {
	switch p {
	case Running:
		return "running"
	case Exited:
		return "exited"
	case Missing:
		return "missing"
	case ThreadOnly:
		return "thread-only"
	default:
		return "unknown"
	}
}

// MarshalText writes the word of String.
func (p Presence) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Reading is one thing that was asked of the operating system: from where, and what it said or why
// it could not be read.
type Reading struct {
	Source string `json:"source"`          // "pidfd_open(4711)", "/proc/4711/stat"
	Said   string `json:"said,omitempty"`  // "no such process"
	Err    string `json:"error,omitempty"` // why it could not be read
}

// Process is what the kernel says about one process number at one moment. Nothing in it is cached.
type Process struct {
	PID      int       `json:"pid"`
	Presence Presence  `json:"presence"`
	Readings []Reading `json:"readings,omitempty"`
	// running, sleeping, disk-sleep, stopped, traced, zombie, dead, idle, parked
	State   Fact[string] `json:"state"`
	Threads Fact[int]    `json:"threads"` // number of threads
	Start   Fact[Start]  `json:"start"`   // exact, see Start
	// Linux ≥ 6.9, 64-bit: inode of its pidfd, unique for the boot
	PIDFD Fact[uint64] `json:"pidfd"`
	// macOS: p_uniqueid, a count of the processes of this boot, never given out twice in it
	Serial Fact[uint64] `json:"serial"`
	Name   Fact[string] `json:"name"` // the kernel's short name; display only
	// wall time; moves with clock steps: display and legacy fields only
	StartedAt Fact[time.Time] `json:"startedAt"`
}

// Boot identifies one run of the kernel.
type Boot struct {
	ID Fact[string] `json:"id"` // valid and genuine, or unknown
	// wall time; moves with clock steps: display and legacy fields only
	StartedAt Fact[time.Time] `json:"startedAt"`
}

// Machine identifies the computer, as far as it can be. It is never evidence: images are cloned.
type Machine struct {
	ID Fact[string] `json:"id"` // validated
	// the raw text that record-v2 peers in other languages read, "" when none
	Legacy string       `json:"-"`
	Host   Fact[string] `json:"host"` // host name: a label
}

// Namespaces are the Linux namespaces that decide what a process number and a start value mean. A
// kernel that has no such namespaces gives an unknown fact with errors.ErrUnsupported. On systems
// whose process numbers mean the same to everybody PIDInitial is true.
type Namespaces struct {
	PID  Fact[uint64] `json:"pid"`  // inode of the pid namespace
	Time Fact[uint64] `json:"time"` // inode of the time namespace
	// the pid namespace is the one of the machine's init; on Windows: not in a container
	PIDInitial Fact[bool] `json:"pidInitial"`
}

// Host is what this process can say about the kernel that it runs on.
type Host struct {
	// runtime.GOOS, but for those that are another's: linux for Android, darwin for iOS
	OS         string       `json:"os"`
	Kernel     Fact[string] `json:"kernel"` // release, display only
	Boot       Boot         `json:"boot"`
	Machine    Machine      `json:"machine"`
	Namespaces Namespaces   `json:"namespaces"`
	// ProcFS is known when /proc describes the processes of this pid namespace and hides none of
	// them; its value is "trustworthy". Otherwise Err says what is wrong with it. A /proc that is
	// mounted with hidepid is not trusted with hiding nothing, from root either; start values are
	// read from it all the same where it shows them.
	ProcFS Fact[string] `json:"procfs"`
}

// Filesystem is what the kernel says about the filesystem that a directory or file lives on.
type Filesystem struct {
	Type  Fact[string] `json:"type"`  // "ext4", "tmpfs", "nfs", …; an unknown magic number in hex
	ID    Fact[string] `json:"id"`    // f_fsid in hex, or "dev:" and the device where that is zero
	Local bool         `json:"local"` // Type is on the list of filesystems that one kernel mounts
}

// Opener is a process that has a file open.
type Opener struct {
	PID    int    `json:"pid"`
	Name   string `json:"name,omitempty"`
	Locked bool   `json:"locked,omitempty"` // it holds a kernel lock on it through that descriptor
}

// Openers is the answer to "who has this file open?".
type Openers struct {
	Found []Opener
	// Incomplete is nil only when every descriptor of every thread of every process could be read,
	// from the initial pid namespace. Descriptors that can neither read nor write (O_PATH) do not
	// count.
	Incomplete error
}

// Nested is the answer to "which processes in pid namespaces below this one have this number
// there?".
type Nested struct {
	Found []Process // with the facts that could be read; PID is the number in this namespace
	// nil only when every process could be looked at, from the initial pid namespace
	Incomplete error
}

// System is the operating system as the packages above see it. The real one is Real; probetest has
// a scripted one. Implementations are safe for concurrent use.
type System interface {
	// Self returns the calling process. What cannot change is read once.
	Self() Process
	// Process returns what the kernel says about pid now. pid must be positive.
	Process(pid int) Process
	// Host returns what cannot change (read once) together with wall times and the host name (read
	// anew).
	Host() Host
	// Filesystem returns the filesystem of an open directory or file, by descriptor or handle.
	Filesystem(handle uintptr) Filesystem
	// Openers scans for processes that have the file open that handle refers to. The descriptor
	// handle itself does not count; any other one of the calling process does.
	Openers(handle uintptr) Openers
	// Nested scans for processes whose own pid namespace lies below this one and who have number
	// pid there.
	Nested(pid int) Nested
}

// Real returns the operating system that this process runs on.
func Real() System { return real }
