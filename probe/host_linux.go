package probe

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Host implements System.
func (s *linuxSystem) Host() Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember()
	proc, err := openProcFS()
	defer proc.close()
	s.readHost(proc, err)
	h := s.host(startedAt(0))
	h.Machine.Host = hostName()
	h.ProcFS = s.wholeProcFS(proc, err)
	return h
}

func kernelRelease() Fact[string] {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Unknown[string]("uname()", err)
	}
	return Known(unix.ByteSliceToString(name.Release[:]), "uname()")
}

// wholeProcFS judges /proc as a whole. Reading the mounts takes milliseconds on machines with
// thousands of them, so that the same mount is judged once; the walks over all processes, whose
// answers depend on it, judge it every time.
func (s *linuxSystem) wholeProcFS(proc procFS, err error) Fact[string] {
	const source = "/proc"
	if err == nil {
		err = s.ours(proc)
	}
	if err != nil {
		return Unknown[string](source, err)
	}
	mount, mountErr := mountOf(proc.directory)
	if known := s.wholeOn.Load(); mountErr != nil || known == nil || *known != mount {
		if err := s.showsAll(proc); err != nil {
			return Unknown[string](source, err)
		}
		if mountErr == nil {
			s.wholeOn.Store(&mount)
		}
	}
	return Known("trustworthy", source)
}

// initialPIDNamespace is the inode of the namespace that the machine's init is in, the same since
// namespaces have had inodes (PROC_PID_INIT_INO).
const initialPIDNamespace = 0xEFFFFFFC

func namespaces(proc procFS, err error) Namespaces {
	var n Namespaces
	n.PID = namespace(proc, err, "pid")
	n.Time = namespace(proc, err, "time")
	if n.PID.Known {
		n.PIDInitial = Known(n.PID.Value == initialPIDNamespace, n.PID.Source)
	} else {
		n.PIDInitial = Unknown[bool](n.PID.Source, n.PID.Err)
	}
	return n
}

// namespace reads the number of one namespace of this process, from a link such as
// "pid:[4026531836]".
func namespace(proc procFS, err error, kind string) Fact[uint64] {
	source := "/proc/self/ns/" + kind
	if err != nil {
		return Unknown[uint64](source, err)
	}
	link, err := proc.readLink("self/ns/" + kind)
	if err == unix.ENOENT {
		return Unknown[uint64](source, fmt.Errorf("this kernel has no such namespaces: %w",
			errors.ErrUnsupported))
	}
	if err != nil {
		return Unknown[uint64](source, err)
	}
	inode, ok := parseNamespace(link, kind)
	if !ok {
		return Unknown[uint64](source, fmt.Errorf("%w: a link to %q", ErrNotGenuine, link))
	}
	return Known(inode, source)
}

func parseNamespace(link, kind string) (uint64, bool) {
	digits, ok := strings.CutPrefix(link, kind+":[")
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, "]"); !ok || !canonicalDecimal(digits) {
		return 0, false
	}
	inode, err := strconv.ParseUint(digits, 10, 64)
	return inode, err == nil && inode != 0
}

// startedAt converts ticks since boot, as this process's time namespace counts them, into wall
// time. The boot is computed from two clocks that are shifted together, and anew when the clock was
// set.
func startedAt(ticks uint64) Fact[time.Time] {
	boot, err := bootTime()
	return atTick(boot, err, ticks)
}

// atTick is startedAt with the answer of bootTime.
func atTick(boot time.Time, err error, ticks uint64) Fact[time.Time] {
	const source = "clock_gettime(CLOCK_REALTIME, CLOCK_BOOTTIME)"
	if err != nil {
		return Unknown[time.Time](source, err)
	}
	if ticks > math.MaxInt64/uint64(tick) {
		return Unknown[time.Time](source, errors.New("start value out of range"))
	}
	return Known(boot.Add(time.Duration(ticks)*tick).Truncate(time.Millisecond), source)
}

// tick is the unit of start values. The kernel converts to 100 ticks a second for programs on every
// architecture that Go has, however fast its own timer runs.
const tick = 10 * time.Millisecond

// clocks are the wall clock and the boot at a moment when both were read. As long as the wall clock
// and the monotonic clock go on together the boot stays where it is: who sets the clock, or
// suspends the machine, moves them apart.
type clocks struct {
	at   time.Time // by the monotonic clock
	wall int64     // the same moment by the wall clock, ns since the epoch
	boot time.Time
}

var lastClocks atomic.Pointer[clocks]

// clocksAgree is how far the two may be apart, which is read one after the other.
const clocksAgree = 100 * time.Microsecond

// bootTime returns when the kernel started, by the wall clock as it is set now.
func bootTime() (time.Time, error) {
	if last := lastClocks.Load(); last != nil {
		now := time.Now()
		apart := time.Duration(now.UnixNano()-last.wall) - now.Sub(last.at)
		if apart.Abs() <= clocksAgree {
			return last.boot, nil
		}
	}
	at, boot, err := measureBoot()
	if err != nil {
		return boot, err
	}
	lastClocks.Store(&clocks{at, at.UnixNano(), boot})
	return boot, nil
}

// measureBoot reads both clocks. As they cannot be read at once, of a few tries the one is used
// that was interrupted least.
func measureBoot() (at, boot time.Time, err error) {
	bestGap := time.Duration(math.MaxInt64)
	for range 4 {
		var since unix.Timespec
		before := time.Now()
		err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since)
		gap := time.Since(before) // monotonic, and without a system call
		if err != nil {
			return at, boot, err
		}
		if gap < bestGap {
			bestGap, at = gap, before
			boot = time.Unix(0, before.UnixNano()+int64(gap/2)-since.Nano())
		}
		if gap < clocksAgree {
			break
		}
	}
	return at, boot, nil
}
