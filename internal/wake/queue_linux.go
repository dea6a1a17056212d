package wake

import (
	"hash/fnv"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ticketBits = 43 // of units of 16 µs: more than four years after the boot
	ticketUnit = 14
	wholeQueue = 1 << ticketBits
)

// Queue is a place in the queue for a name in a directory. Places are kept by the kernel and vanish
// with their process. They are taken in the order of arrival, and only that: whoever ignores the
// queue does no harm. On systems without a queue everybody is first.
//
// # Linux
//
// A place is a read lock of an open file description, on one byte far behind anything, of the
// directory itself: the place of the byte is the time of arrival. Nobody can take a write lock on a
// directory, so such a lock is in nobody's way, and the kernel says who is before it.
type Queue struct {
	dir    uintptr
	base   int64
	ticket int64

	name   []byte   // of the sockets of this queue, but for their places
	socket *os.File // nil: not listening
}

// queueBase is where the queue of a name begins. Names that share one wait for each other somewhat
// longer than they must.
func queueBase(name string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return 1<<62 | int64(h.Sum32()>>14)<<ticketBits
}

// Waiting reports whether anybody is in the queue for name, and for how long the first has been.
// dir is a descriptor of the directory, open for reading.
func Waiting(dir uintptr, name string) (longest time.Duration, is bool) {
	ticket, is := first(dir, queueBase(name), wholeQueue)
	if !is {
		return 0, false
	}
	return time.Duration(max(arrival()-ticket, 0) << ticketUnit), true
}

// arrival returns the ticket of who arrives now, 0 when the clock cannot be read.
func arrival() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return now.Nano() >> ticketUnit & (wholeQueue - 1)
}

// Join takes the last place in the queue. The descriptor must stay open until Leave, and be used
// for this queue alone. nil: there are no queues here.
func Join(dir uintptr, name string) *Queue {
	q := &Queue{dir: dir, base: queueBase(name), ticket: arrival()}
	if q.set(unix.F_RDLCK) != nil {
		return nil
	}
	return q
}

// Leave gives the place up.
func (q *Queue) Leave() {
	if q != nil {
		_ = q.set(unix.F_UNLCK)
		q.Deafen()
	}
}

func (q *Queue) set(kind int16) error {
	lock := unix.Flock_t{Type: kind, Start: q.base + q.ticket, Len: 1}
	return unix.FcntlFlock(q.dir, unix.F_OFD_SETLK, &lock)
}

// Position looks who is before this place.
func (q *Queue) Position() Position {
	if q == nil {
		return Position{}
	}
	one, is := first(q.dir, q.base, q.ticket)
	if !is {
		return Position{}
	}
	// The kernel names locks in the order in which they were taken, so that is the first: one that
	// came before it on another clock is found below.
	before, after := false, false
	if one > 0 {
		_, before = first(q.dir, q.base, one)
	}
	if rest := q.ticket - one - 1; rest > 0 {
		_, after = first(q.dir, q.base+one+1, rest)
	}
	if !before && !after {
		return Position{Ahead: 1}
	}
	return Position{Ahead: 2, First: one, Mine: q.ticket}
}

// first returns the ticket of somebody in that part of a queue, from base on.
func first(dir uintptr, base, size int64) (ticket int64, is bool) {
	if size <= 0 {
		return 0, false // a length of 0 would reach to the end
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: base, Len: size}
	err := unix.FcntlFlock(dir, unix.F_OFD_GETLK, &lock)
	return lock.Start - base, err == nil && lock.Type != unix.F_UNLCK
}
