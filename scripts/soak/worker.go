//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
)

const workerArg = "worker"

// What workers say to the parent, one line each. Times are those of monotonic.
const (
	sayTry      = "try"      // TOTAL TIME: from then on it raises the counter in the state to that
	sayAck      = "ack"      // N TIME: it did, and this is commit N of the worker's slot
	sayRefused  = "refused"  // it did not, and nothing changed
	sayUnsure   = "unsure"   // TIME: it may have
	sayTakeover = "takeover" // it took the lock over
	sayConflict = "conflict" // SLOT TIME: another worker is in the critical section
	sayLost     = "lost"     // a commit that was acknowledged is not in the state
	sayFaults   = "faults"   // N: so many of its file operations failed since it said so last
	sayError    = "error"    // anything else that must not happen
)

// exitFaulty is the exit code of a worker that cannot go on after a fault.
const exitFaulty = 4

// workerOrder is what a worker is told, as JSON.
type workerOrder struct {
	Slot, Acked     int
	State, Critical string
	Workers         int
	OwnProc         bool // mount a /proc of its own
	SmallDisk       bool // the disk may be full
	Faults          int  // one operation in so many fails
	Seed, Stream    uint64
}

// content is the state: how many commits there were, and the last one of every slot. Each commit
// raises two numbers, so that one that is lost leaves a trace whoever comes next.
type content struct {
	Total int   `json:"total"`
	Slots []int `json:"slots"`
}

func readState(path string, workers int) (content, error) {
	c := content{Slots: make([]int, workers)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	sum := 0
	for _, n := range c.Slots {
		sum += n
	}
	if err == nil && (sum != c.Total || len(c.Slots) != workers) {
		err = fmt.Errorf("the slots of %s do not sum up", text)
	}
	return c, err
}

func say(verb string, args ...any) {
	if _, err := fmt.Println(append([]any{verb}, args...)...); err != nil {
		os.Exit(3) // the parent is gone
	}
}

func fatal(err error) {
	say(sayError, err)
	os.Exit(1)
}

// work is a worker.
func work(args []string) {
	var o workerOrder
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fatal(err)
	}
	if o.OwnProc {
		if err := ownProc(); err != nil {
			fatal(err)
		}
	}
	critical, err := os.OpenFile(o.Critical, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		fatal(err)
	}
	if o.Faults > 0 {
		injectFaults(o.Seed, o.Stream, o.Faults, filepath.Dir(o.State))
	}
	var stop atomic.Bool
	go func() {
		if bufio.NewScanner(os.Stdin).Scan() {
			stop.Store(true)
			return
		}
		os.Exit(3) // the parent is gone
	}()
	for told := int64(0); !stop.Load(); {
		if err := o.tenure(int(critical.Fd())); err != nil {
			fatal(err)
		}
		if now := injected.Load(); now > told {
			say(sayFaults, now-told)
			told = now
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // give others a turn
	}
}

// excused reports whether something may fail: a file operation of this process did, since before,
// or the disk is full.
func (o *workerOrder) excused(err error, before int64) bool {
	return injected.Load() > before || o.SmallDisk && errors.Is(err, syscall.ENOSPC)
}

// tenure acquires, commits once and releases. An error is something that must not happen.
func (o *workerOrder) tenure(critical int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	faults := injected.Load()
	label := fmt.Sprintf("%s%d", labelPrefix, o.Slot)
	lock, err := lockfile.Acquire(ctx, o.State, lockfile.Options{Label: label})
	if err != nil {
		if o.excused(err, faults) && ctx.Err() == nil {
			return nil
		}
		return err
	}
	began := monotonic()
	if lock.Recovered() != nil {
		say(sayTakeover)
	}
	if err := enter(critical, o.Slot, o.Workers); err != nil {
		return fmt.Errorf("critical section: %w", err)
	}
	if err := o.commit(lock, began, faults); err != nil {
		return err
	}
	if err := leave(critical, o.Slot); err != nil {
		return fmt.Errorf("critical section: %w", err)
	}
	return o.release(lock)
}

// commit raises the counter by one.
func (o *workerOrder) commit(lock *lockfile.Lock, began, faults int64) error {
	now, err := readState(o.State, o.Workers)
	if err != nil {
		return err
	}
	if now.Slots[o.Slot] < o.Acked {
		say(sayLost, fmt.Sprintf("commit %d was acknowledged, the state has %d", o.Acked,
			now.Slots[o.Slot]))
	}
	now.Total++
	now.Slots[o.Slot]++
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	say(sayTry, now.Total, began)
	// Nobody breaks locks here and there are no other programs: any refusal without a fault is an
	// error.
	err = lock.WriteFile(o.State, text, 0o600)
	switch {
	case err == nil:
		o.Acked = now.Slots[o.Slot]
		say(sayAck, o.Acked, monotonic())
	case !o.excused(err, faults) || errors.Is(err, lockfile.ErrLost):
		return err
	case errors.Is(err, lockfile.ErrUnsure):
		say(sayUnsure, monotonic())
	default:
		say(sayRefused)
	}
	return nil
}

// release gives the lock up, whatever fails on the way. Where it fails again and again the end of
// the process must do.
func (o *workerOrder) release(lock *lockfile.Lock) error {
	for range 20 {
		faults := injected.Load()
		err := lock.Release()
		if err == nil {
			return nil
		}
		if !o.excused(err, faults) || errors.Is(err, lockfile.ErrLost) {
			return err
		}
	}
	os.Exit(exitFaulty)
	return nil
}

// The critical section is told apart from the lock under test by POSIX record locks, one byte for
// each slot: the kernel drops them when their process ends, and whoever enters sees which others
// are inside, in whatever pid namespace they are.

func enter(fd, slot, workers int) error {
	own := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(slot), Len: 1}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &own); err != nil {
		return err
	}
	for other := range workers {
		if other == slot {
			continue
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(other), Len: 1}
		if err := unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lock); err != nil {
			return err
		}
		if lock.Type != unix.F_UNLCK {
			say(sayConflict, other, monotonic())
		}
	}
	return nil
}

func leave(fd, slot int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK,
		Start: int64(slot), Len: 1})
}

// monotonic is a clock that all processes of this machine share, in nanoseconds.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
