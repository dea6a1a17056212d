package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// floor is what this system can do at best: the same system calls without a library. Empty where
// nobody has written them down.
var floor struct{ acquire, commit, inspect []side }

// children are the roles of child processes, which are this program again. What they say is lines,
// and they end when their standard input does.
var children = map[string]func(args []string) error{}

const childVariable = "PROBATE_BENCH_CHILD"

func TestMain(m *testing.M) {
	role, isChild := os.LookupEnv(childVariable)
	if !isChild {
		os.Exit(m.Run())
	}
	if err := children[role](os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s %q: %v\n", role, os.Args[1:], err)
		os.Exit(1)
	}
}

// patience is how long anybody waits for a child before the run fails.
const patience = time.Minute

// child is a process that plays a role.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
	end   func() error
}

func startChild(b *testing.B, role string, args ...string) *child {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	cmd.Stderr = os.Stderr
	return startCommand(b, cmd)
}

// startCommand starts a process that is ended, and reaped, with the benchmark.
func startCommand(b *testing.B, cmd *exec.Cmd) *child {
	b.Helper()
	c := &child{cmd: cmd, lines: make(chan string, 1<<16)}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			c.lines <- in.Text()
		}
	}()
	c.end = sync.OnceValue(func() error {
		c.stdin.Close()
		kill := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer kill.Stop()
		for range c.lines { // Wait closes the pipe under a reader
		}
		return cmd.Wait()
	})
	b.Cleanup(func() {
		if err := c.end(); err != nil {
			b.Errorf("%s: %v", cmd, err)
		}
	})
	return c
}

// kill kills the process with SIGKILL and reaps it.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.end()
	c.end = func() error { return nil }
}

// line waits for the next line that the child says.
func (c *child) line(b *testing.B) string {
	b.Helper()
	line, err := c.next()
	if err != nil {
		b.Fatal(err)
	}
	return line
}

func (c *child) next() (string, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", errors.New("a child ended early: " + c.cmd.String())
		}
		return line, nil
	case <-time.After(patience):
		return "", fmt.Errorf("%s said nothing for %v", c.cmd, patience)
	}
}

// say sends the child a line.
func (c *child) say(b *testing.B, line string) {
	b.Helper()
	if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
		b.Fatal(err)
	}
}

// startTogether starts processes, waits until each of them is ready, and lets them go.
func startTogether(b *testing.B, processes int, start func() *child) []*child {
	b.Helper()
	var all []*child
	for range processes {
		c := start()
		if line := c.line(b); line != "ready" {
			b.Fatalf("a process said %q", line)
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.say(b, "go")
	}
	return all
}

// ready is what a child of startTogether does until it may go.
func ready() error {
	tell("ready")
	_, err := os.Stdin.Read(make([]byte, len("go\n")))
	return err
}

// tell is how a child says a line: with one write.
func tell(args ...any) { fmt.Println(args...) }

// waitForEnd returns when the parent has closed the child's standard input, or is gone.
func waitForEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }
