//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// insideEnv is set in the copy of this program that has mounts of its own.
const insideEnv = "SOAK_INSIDE"

// diskSize is the size of the small disk: enough for two logs, and soon full.
const diskSize = "size=4m,nr_inodes=4096"

// goInside runs this program again where its mounts are its own, and end with it.
func goInside(ctx context.Context) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		return 1
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * patience
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "soak: no mounts of its own here: %v; "+
			"without them: -private=false\n", err)
		return 1
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// prepare makes the folder of the state, on a small disk of its own unless a folder was named.
func (s *soak) prepare() error {
	data := filepath.Dir(s.state)
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if !s.private || s.dir != "" {
		return nil
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, diskSize); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	s.smallDisk = true
	return nil
}

func (s *soak) unmount() {
	if s.smallDisk {
		_ = syscall.Unmount(filepath.Dir(s.state), syscall.MNT_DETACH)
	}
}

// fillDisk makes the disk full for a while.
func (s *soak) fillDisk() {
	ballast := filepath.Join(filepath.Dir(s.state), ballastName)
	f, err := os.Create(ballast)
	if err == nil {
		chunk := make([]byte, 64<<10)
		for err == nil {
			if _, err = f.Write(chunk); errors.Is(err, syscall.ENOSPC) && len(chunk) > 1 {
				chunk, err = chunk[:len(chunk)/2], nil
			}
		}
		_ = f.Close()
	}
	if !errors.Is(err, syscall.ENOSPC) {
		s.violation("the disk does not get full: %v", err)
	}
	time.Sleep(s.between(20, 300))
	if err := os.Remove(ballast); err != nil {
		s.violation("%v", err)
	}
	s.mu.Lock()
	s.fills++
	s.mu.Unlock()
}

const ballastName = "ballast"

// attributes give a worker its namespaces: every third one has a pid namespace with a /proc of its
// own, every third one a pid namespace with the /proc of this process.
func (s *soak) attributes(slot int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.private {
		switch slot % 3 {
		case 1:
			a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
		case 2:
			a.Cloneflags = syscall.CLONE_NEWPID
		}
	}
	return a
}

// ownProc gives a process that is the first of its pid namespace, in mounts of its own, the /proc
// that belongs to it. A new mount: the one outside is not changed.
func ownProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}
