package wake

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bell wakes one waiter sooner than a Watch does: the waiter itself blocks in the kernel, so that
// neither the runtime's poller nor another goroutine stands between. That takes a thread, so there
// are only a few of them in a process; whoever gets none has a Watch.
//
// # Linux
//
// An inotify instance for each Bell and the process's pidfd, in one poll.
type Bell struct {
	fd, pidfd int
	ended     bool // the process, before it could be waited for

	mu    sync.Mutex
	wd    int // -1: nothing is watched
	waits int // counts the waits, so that a late end of an earlier one ends no other
	buf   [16 * (unix.SizeofInotifyEvent + unix.NAME_MAX + 1)]byte
}

// mostBells bounds the threads that wait, and the inotify instances, of which a user has 128.
const mostBells = 8

// bells are those of this process. One that nobody uses is kept for a moment: who gets a lock often
// waits for the next one.
var bells struct {
	sync.Mutex
	open int
	idle *Bell
	used bool // since the timer ran last that closes it
	late bool // that timer runs
}

// Listen returns a Bell, nil where none is to be had.
func Listen() *Bell {
	bells.Lock()
	defer bells.Unlock()
	if b := bells.idle; b != nil {
		bells.idle = nil
		return b
	}
	if bells.open == mostBells {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil
	}
	bells.open++
	return &Bell{fd: fd, pidfd: -1, wd: -1}
}

// Close gives the Bell back. Nobody may wait at it.
func (b *Bell) Close() {
	bells.Lock()
	defer bells.Unlock()
	if bells.idle != nil {
		go b.shut()
		return
	}
	bells.idle, bells.used = b, true
	if !bells.late { // to start a timer can wake a thread, so it is left running
		bells.late = true
		time.AfterFunc(linger, closeIdle)
	}
}

// closeIdle closes the Bell that nobody has used for a while, or waits for that.
func closeIdle() {
	bells.Lock()
	defer bells.Unlock()
	if bells.used { // it may be of use again
		bells.used = false
		time.AfterFunc(linger, closeIdle)
		return
	}
	bells.late = false
	if b := bells.idle; b != nil {
		bells.idle = nil
		go b.shut()
	}
}

// shut takes the kernel milliseconds.
func (b *Bell) shut() {
	b.closeProcess()
	_ = unix.Close(b.fd)
	bells.Lock()
	defer bells.Unlock()
	bells.open--
}

// Watch begins to listen for what happens to a target, and to no other any more. Look once more
// after it, for what happened before. Tell and Quietly mean nothing here.
func (b *Bell) Watch(t Target) (file, process bool) {
	b.closeProcess()
	b.ended = false
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wd >= 0 {
		_, _ = unix.InotifyRmWatch(b.fd, uint32(b.wd))
	}
	b.drain() // of the last one
	b.wd = -1
	wd, err := addWatch(b.fd, t, changes)
	if err != nil {
		return false, false
	}
	b.wd = wd
	if t.PID > 0 {
		switch fd, err := unix.PidfdOpen(t.PID, 0); err {
		case nil:
			b.pidfd, process = fd, true
		case unix.ESRCH:
			b.ended, process = true, true
		}
	}
	return true, process
}

// Watches reports whether the file of the last Watch is still listened to.
func (b *Bell) Watches() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wd >= 0
}

// Wait waits for something to happen, for the end of ctx, or for as long as d.
func (b *Bell) Wait(ctx context.Context, d time.Duration) Woken {
	if b.ended {
		b.ended = false
		return Ended
	}
	if !b.Watches() {
		return Rung // and nothing would end the wait
	}
	if done := ctx.Done(); done != nil {
		b.mu.Lock()
		b.waits++
		mine := b.waits
		b.mu.Unlock()
		stop := context.AfterFunc(ctx, func() { b.interrupt(mine) })
		defer func() {
			if !stop() {
				b.mu.Lock()
				b.waits++
				b.mu.Unlock()
			}
		}()
	}
	for end := time.Now().Add(d); ; {
		if left := time.Until(end); left <= 0 || ctx.Err() != nil {
			return TimeIsUp
		} else if woken := b.poll(left); woken != TimeIsUp {
			return woken
		}
	}
}

// poll may return early.
func (b *Bell) poll(d time.Duration) Woken {
	fds := [2]unix.PollFd{{Fd: int32(b.fd), Events: unix.POLLIN},
		{Fd: int32(b.pidfd), Events: unix.POLLIN}} // a negative one is left out
	timeout := unix.NsecToTimespec(int64(min(d, math.MaxInt32*time.Second)))
	n, err := unix.Ppoll(fds[:], &timeout, nil)
	switch {
	case err != nil || n == 0:
		return TimeIsUp
	case fds[0].Revents != 0:
		return Rung
	}
	b.closeProcess() // it stays ready
	return Ended
}

// Forget takes out what has been heard, so that the next Wait waits for what happens from now on.
func (b *Bell) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drain()
}

// drain reads all events, and notices when there is nothing to watch any more.
func (b *Bell) drain() {
	for {
		n, err := unix.Read(b.fd, b.buf[:])
		if err != nil || n <= 0 {
			return
		}
		for events := b.buf[:n]; len(events) >= unix.SizeofInotifyEvent; {
			id, mask := binary.NativeEndian.Uint32(events), binary.NativeEndian.Uint32(events[4:])
			if mask&unix.IN_IGNORED != 0 && int(id) == b.wd {
				b.wd = -1
			}
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
			events = events[min(size, len(events)):]
		}
	}
}

// interrupt ends that wait, by ending its watch: that is an event too.
func (b *Bell) interrupt(wait int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waits == wait && b.wd >= 0 {
		_, _ = unix.InotifyRmWatch(b.fd, uint32(b.wd))
	}
}

func (b *Bell) closeProcess() {
	if b.pidfd >= 0 {
		_ = unix.Close(b.pidfd)
		b.pidfd = -1
	}
}
