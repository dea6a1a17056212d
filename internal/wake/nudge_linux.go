package wake

import (
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter far behind in a queue sleeps until the one before it nudges it: with a datagram to a
// socket that is named, in the kernel's own space of names, after its place. Whoever sends one can
// only make somebody look at its place for nothing. In another network namespace nobody hears it,
// so that it is a help, and who sleeps wakes by itself once in a while.

const nudgeSocket = unix.SOCK_DGRAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// nudgeName is the address of a place.
func (q *Queue) nudgeName(ticket int64) *unix.SockaddrUnix {
	name := append(q.name[:0:0], q.name...)
	return &unix.SockaddrUnix{Name: string(strconv.AppendInt(name, q.base+ticket, 16))}
}

// nameQueue makes the part of addresses that all places of one directory share.
func nameQueue(dir uintptr) []byte {
	var st unix.Stat_t
	if unix.Fstat(int(dir), &st) != nil {
		return nil
	}
	name := append([]byte(nil), "@probate/"...)
	name = append(strconv.AppendUint(name, uint64(st.Dev), 16), '/')
	return append(strconv.AppendUint(name, st.Ino, 16), '/')
}

// Listen lets nudges reach this place, and reports whether they do. Another waiter may have come at
// the same time and have the same place: then this one takes the next that is free.
func (q *Queue) Listen() bool {
	if q == nil || q.socket != nil {
		return q != nil
	}
	if q.name = nameQueue(q.dir); q.name == nil {
		return false
	}
	fd, err := unix.Socket(unix.AF_UNIX, nudgeSocket, 0)
	if err != nil {
		return false
	}
	const tries = 64
	for range tries {
		if err = unix.Bind(fd, q.nudgeName(q.ticket)); err != unix.EADDRINUSE {
			break
		}
		if !q.move(q.ticket + 1) {
			break
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return false
	}
	q.socket = os.NewFile(uintptr(fd), "queue")
	return true
}

// move takes another place, and leaves this one.
func (q *Queue) move(ticket int64) bool {
	old := *q
	if q.ticket = ticket; q.set(unix.F_RDLCK) != nil {
		q.ticket = old.ticket
		return false
	}
	_ = old.set(unix.F_UNLCK)
	return true
}

// Deafen gives back what Listen took.
func (q *Queue) Deafen() {
	if q != nil && q.socket != nil {
		_ = q.socket.Close()
		q.socket = nil
	}
}

// Sleep waits for a nudge, for the end of ctx, or for as long as d. It reports whether it could:
// only after Listen.
func (q *Queue) Sleep(ctx context.Context, d time.Duration) bool {
	if q == nil || q.socket == nil || q.socket.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	socket := q.socket // what ctx ends may run late, when the place was left
	stop := context.AfterFunc(ctx, func() { _ = socket.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, _ = socket.Read(make([]byte, 1))
	return true
}

// Nudge wakes the one behind this place, if anybody is there.
func (q *Queue) Nudge() {
	if q == nil {
		return
	}
	next, is := first(q.dir, q.base+q.ticket+1, wholeQueue-q.ticket-1)
	if !is {
		return
	}
	next += q.ticket + 1
	for { // the kernel names locks in the order in which they were taken, mostly that of tickets
		between, is := first(q.dir, q.base+q.ticket+1, next-q.ticket-1)
		if !is {
			break
		}
		next = q.ticket + 1 + between
	}
	if q.name == nil {
		if q.name = nameQueue(q.dir); q.name == nil {
			return
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, nudgeSocket, 0)
	if err != nil {
		return
	}
	_ = unix.Sendto(fd, []byte{0}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, q.nudgeName(next))
	_ = unix.Close(fd)
}
