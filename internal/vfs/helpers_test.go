//go:build linux || windows

package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// What only the tests of the calls of Linux need.

type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// command prepares a child; start it with begin.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func begin(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t, cmd, in, bufio.NewScanner(out)}
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { cmd.Process.Kill(); cmd.Wait() }) })
	return c
}

// line is the next line that the child says.
func (c *child) line() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the child ended: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *child) expect(want string) {
	c.t.Helper()
	if got := c.line(); got != want {
		c.t.Fatalf("the child says %q, want %q", got, want)
	}
}

// kill ends the child with SIGKILL and returns when it is gone.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// say prints a line, and wait waits for one, in a child.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func wait()                          { bufio.NewReader(os.Stdin).ReadString('\n') }

func content(t testing.TB, d Dir, name string) string {
	t.Helper()
	at, err := OS().OpenDir(d.Path())
	must{t}.ok(err)
	defer at.Close()
	f, err := at.Open(name, Read)
	if errors.Is(err, fs.ErrNotExist) {
		return "(missing)"
	}
	must{t}.ok(err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	must{t}.ok(err)
	return string(b)
}

func second[T any](_ T, err error) error { return err }
