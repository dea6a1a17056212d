//go:build unix

// Command trace does one thing again and again, for whoever looks at its system calls: trace.sh.
//
//	trace tenure|commit|inspection|turns|hold|succeed PATH TIMES
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/probate-dev/probate/lockfile"
)

func main() {
	if len(os.Args) != 4 || errands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: trace tenure|commit|inspection|turns|hold|succeed PATH TIMES")
		os.Exit(2)
	}
	times, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = errands[os.Args[1]](os.Args[2], times)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
}

var errands = map[string]func(path string, times int) error{
	"tenure": func(path string, times int) error {
		return repeat("tenure", times, func() error {
			lock, err := lockfile.TryAcquire(path, lockfile.Options{})
			if err != nil {
				return err
			}
			return lock.Release()
		})
	},
	"commit": func(path string, times int) error {
		lock, err := lockfile.TryAcquire(path, lockfile.Options{})
		if err != nil {
			return err
		}
		data := make([]byte, 4096)
		err = repeat("commit", times, func() error { return lock.WriteFile(path, data, 0o600) })
		if err != nil {
			return err
		}
		return lock.Release()
	},
	"inspection": func(path string, times int) error {
		return repeat("inspection", times, func() error {
			_, err := lockfile.Inspect(path, lockfile.Options{})
			return err
		})
	},
	"turns": func(path string, times int) error { // two of these hand the lock to each other
		if err := meet(path + ".turns"); err != nil {
			return err
		}
		return repeat("turn", times, func() error {
			lock, err := lockfile.Acquire(context.Background(), path, lockfile.Options{})
			if err != nil {
				return err
			}
			mark("acquired")
			time.Sleep(20 * time.Millisecond) // traced, everything takes longer
			mark("release")
			err = lock.Release()
			mark("released")
			time.Sleep(10 * time.Millisecond)
			return err
		})
	},
	// takes the lock over from processes that begin with "hold" and are killed when it waits
	"succeed": func(path string, times int) error {
		return repeat("takeover", times, func() error {
			holder := exec.Command(os.Args[0], "hold", path, "1")
			if _, err := holder.StdinPipe(); err != nil {
				return err
			}
			out, err := holder.StdoutPipe()
			if err != nil {
				return err
			}
			if err := holder.Start(); err != nil {
				return err
			}
			if _, err := out.Read(make([]byte, 8)); err != nil {
				return err
			}
			killed := time.AfterFunc(100*time.Millisecond, func() {
				mark("kill")
				_ = holder.Process.Kill()
			})
			defer killed.Stop()
			lock, err := lockfile.Acquire(context.Background(), path, lockfile.Options{})
			if err != nil {
				return err
			}
			mark("acquired")
			if err := lock.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
				return err
			}
			mark("committed")
			_ = holder.Wait() // it was killed
			return lock.Release()
		})
	},
	"hold": func(path string, _ int) error { // until standard input ends
		lock, err := lockfile.TryAcquire(path, lockfile.Options{})
		if err != nil {
			return err
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return lock.Release()
	},
}

// meet waits until two processes have come to that folder, which must be a new one.
func meet(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
		return err
	}
	for {
		come, err := os.ReadDir(dir)
		if err != nil || len(come) > 1 {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// repeat marks the begin and the end of each time. What is done once for each process happens in
// the first.
func repeat(what string, times int, once func() error) error {
	for i := range times {
		mark(fmt.Sprintf("begin %s %d", what, i+1))
		if err := once(); err != nil {
			return err
		}
		mark("end " + what)
	}
	return nil
}

// mark leaves a text in a trace: a write that fails.
func mark(text string) { _, _ = syscall.Write(-1, []byte(text)) }
