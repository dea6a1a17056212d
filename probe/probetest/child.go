package probetest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that this package needs. *testing.T and *Peer have it.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Patience is how long a parent waits for a line or for the end of a child before it fails the
// test. It is no part of any test's timing: it only turns a deadlock into a message.
var Patience = 3 * time.Minute

// Child is a real process that runs a registered function. Its methods fail the test rather than
// return errors, and are for the goroutine of that test only.
type Child struct {
	tb    TB
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string   // closed when the child has closed its end
	gone  chan struct{} // closed at the end of the test
	reap  func()        // waits for the child once
}

// Start starts a child that runs the function registered under name. It is killed at the end of the
// test at the latest.
func Start(tb TB, name string, args ...string) *Child {
	tb.Helper()
	return StartAs(tb, nil, name, args...)
}

// StartAs is Start with a change to the command before it is started: credentials, namespaces,
// environment, folder, extra files. Standard input and output belong to this package.
func StartAs(tb TB, change func(*exec.Cmd), name string, args ...string) *Child {
	tb.Helper()
	program, err := self()
	if err != nil {
		tb.Fatalf("probetest: %v", err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	if change != nil {
		change(cmd)
	}
	// Pipes of our own, not StdinPipe and StdoutPipe: lines can be read after the child has ended,
	// and a child of the child that inherited the pipe holds nobody up.
	childIn, stdin, err := os.Pipe()
	if err != nil {
		tb.Fatalf("probetest: %v", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		tb.Fatalf("probetest: %v", err)
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	err = startTied(cmd)
	childIn.Close()
	childOut.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		tb.Fatalf("probetest: child %s: %v", name, err)
	}
	c := &Child{
		tb: tb, name: name, cmd: cmd, stdin: stdin,
		lines: make(chan string, 64),
		gone:  make(chan struct{}),
		reap:  sync.OnceFunc(func() { cmd.Wait() }),
	}
	go c.receive(stdout)
	tb.Cleanup(func() {
		cmd.Process.Kill()
		c.reap()
		stdin.Close()
		stdout.Close()
		close(c.gone)
	})
	return c
}

func (c *Child) receive(stdout io.Reader) {
	defer close(c.lines)
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		select {
		case c.lines <- strings.TrimSuffix(line, "\n"):
		case <-c.gone:
			return
		}
	}
}

// PID returns the number of the process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Send sends a line to the child.
func (c *Child) Send(line string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.stdin, oneLine(line)+"\n"); err != nil {
		c.tb.Fatalf("child %s (%d): cannot send %q: %v", c.name, c.PID(), line, err)
	}
}

// Next waits for the next line of the child. It returns false when the child has closed its end,
// which it does at the latest when it ends, and no line is left.
func (c *Child) Next() (string, bool) {
	c.tb.Helper()
	select {
	case line, ok := <-c.lines:
		return line, ok
	case <-time.After(Patience):
		c.tb.Fatalf("child %s (%d) said nothing for %v", c.name, c.PID(), Patience)
		return "", false
	}
}

// Line waits for the next line of the child.
func (c *Child) Line() string {
	c.tb.Helper()
	line, ok := c.Next()
	if !ok {
		c.tb.Fatalf("child %s (%d) ended without a word", c.name, c.PID())
	}
	return line
}

// Expect waits for the next line of the child and fails the test when it is another one.
func (c *Child) Expect(want string) {
	c.tb.Helper()
	if got := c.Line(); got != want {
		c.tb.Fatalf("child %s (%d) said %q instead of %q", c.name, c.PID(), got, want)
	}
}

// JSON waits for the next line of the child and decodes it.
func (c *Child) JSON(v any) {
	c.tb.Helper()
	line := c.Line()
	if err := json.Unmarshal([]byte(line), v); err != nil {
		c.tb.Fatalf("child %s (%d) said %q: %v", c.name, c.PID(), line, err)
	}
}

// Ask sends a line and returns the next line of the child.
func (c *Child) Ask(line string) string {
	c.tb.Helper()
	c.Send(line)
	return c.Line()
}

// Close closes the child's standard input, at which it exits at once with code 0, and waits until
// it has.
func (c *Child) Close() {
	c.tb.Helper()
	c.stdin.Close()
	c.Wait()
}

// Wait waits until the child has ended by itself, and returns its exit code, or -1 when a signal
// ended it.
func (c *Child) Wait() int {
	c.tb.Helper()
	done := make(chan struct{})
	go func() {
		c.reap()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(Patience):
		c.tb.Fatalf("child %s (%d) did not end in %v", c.name, c.PID(), Patience)
	}
	return c.cmd.ProcessState.ExitCode()
}

// Kill kills the child, which cannot do anything about it, and reaps it: afterwards the process
// does not exist any more.
func (c *Child) Kill() {
	c.tb.Helper()
	c.kill()
	c.reap()
}

// KillNoReap kills the child and does not reap it before the test ends: afterwards it is a zombie,
// or what comes next to that on this system. Lines that were not read are lost.
func (c *Child) KillNoReap() {
	c.tb.Helper()
	c.kill()
	if err := awaitExit(c); err != nil {
		c.tb.Fatalf("child %s (%d): %v", c.name, c.PID(), err)
	}
}

func (c *Child) kill() {
	c.tb.Helper()
	if c.cmd.ProcessState != nil {
		return // reaped
	}
	if err := c.cmd.Process.Kill(); err != nil && err != os.ErrProcessDone {
		c.tb.Fatalf("child %s (%d): %v", c.name, c.PID(), err)
	}
}
