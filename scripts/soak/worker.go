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
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/probate-dev/probate/lockfile"
)

const workerArg = "worker"

// What workers say to the parent, one line each.
const (
	sayAck      = "ack"      // N: this commit of the worker's slot went through
	sayTakeover = "takeover" // it took the lock over
	sayConflict = "conflict" // PID TIME: another process is in the critical section
	sayLost     = "lost"     // a commit that was acknowledged is not in the state
	sayError    = "error"    // anything else that must not happen
)

// content is the state: how many commits there were, and the last one of every slot. Each commit
// raises two numbers, so that one that is lost leaves a trace whoever comes next.
type content struct {
	Total int          `json:"total"`
	Slots [workers]int `json:"slots"`
}

func readState(path string) (content, error) {
	var c content
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
	if err == nil && sum != c.Total {
		err = fmt.Errorf("the slots of %s do not sum up", text)
	}
	return c, err
}

func say(verb string, args ...any) {
	if _, err := fmt.Println(append([]any{verb}, args...)...); err != nil {
		os.Exit(3) // the parent is gone
	}
}

// work is a worker: SLOT ACKED STATE CRITICAL.
func work(args []string) {
	slot, _ := strconv.Atoi(args[0])
	acked, _ := strconv.Atoi(args[1])
	state := args[2]
	// The critical section of its own, told apart from the lock under test: a POSIX record lock
	// names its holder, and the kernel drops it when the holder ends. Its descriptor is the lowest
	// of ours, which the kernel closes first.
	critical, err := os.OpenFile(args[3], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		say(sayError, err)
		os.Exit(1)
	}
	var stop atomic.Bool
	go func() {
		if bufio.NewScanner(os.Stdin).Scan() {
			stop.Store(true)
			return
		}
		os.Exit(3) // the parent is gone
	}()
	for !stop.Load() {
		if acked, err = tenure(slot, acked, state, int(critical.Fd())); err != nil {
			say(sayError, err)
			os.Exit(1)
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // give others a turn
	}
}

// tenure acquires, commits once and releases. It returns the last commit that was acknowledged.
func tenure(slot, acked int, state string, critical int) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lock, err := lockfile.Acquire(ctx, state, lockfile.Options{Label: "soak " + strconv.Itoa(slot)})
	if err != nil {
		return acked, err
	}
	if lock.Recovered() != nil {
		say(sayTakeover)
	}
	if err := enter(critical); err != nil {
		return acked, fmt.Errorf("critical section: %w", err)
	}
	now, err := readState(state)
	if err != nil {
		return acked, err
	}
	if now.Slots[slot] < acked {
		say(sayLost, fmt.Sprintf("commit %d was acknowledged, the state has %d", acked,
			now.Slots[slot]))
	}
	now.Total++
	now.Slots[slot]++
	text, err := json.Marshal(now)
	if err != nil {
		return acked, err
	}
	// Nobody breaks locks here and there are no other programs: any refusal is an error.
	if err := lock.WriteFile(state, text, 0o600); err != nil {
		return acked, err
	}
	say(sayAck, now.Slots[slot])
	if err := leave(critical); err != nil {
		return acked, fmt.Errorf("critical section: %w", err)
	}
	return now.Slots[slot], lock.Release()
}

func enter(fd int) error {
	for {
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err := unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &lock)
		if err == nil || !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return err
		}
		lock = unix.Flock_t{Type: unix.F_WRLCK}
		if err := unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lock); err != nil {
			return err
		}
		if lock.Type != unix.F_UNLCK {
			say(sayConflict, lock.Pid, monotonic())
		}
	}
}

func leave(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
}
