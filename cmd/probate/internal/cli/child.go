package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

// childVerb makes this program the child of a self-test. It is not for people.
const childVerb = "selftest-child"

// request and reply are what the self-test and its children say to each other, a line each.
type request struct {
	Do   string `json:"do"` // acquire, write
	Text string `json:"text,omitempty"`
}

type reply struct {
	Fence  fence.Token `json:"fence"`
	LockID string      `json:"lockID"`
	Error  string      `json:"error,omitempty"`
	Kind   string      `json:"kind,omitempty"`
}

func (a *app) selftestChildCommand() *cobra.Command {
	return &cobra.Command{
		Use: childVerb, Hidden: true, Args: operands("STATE"),
		RunE: a.verb(
			func(ctx context.Context, args []string) error { return a.serve(ctx, args[0]) },
		),
	}
}

// serve does what the parent asks for until the parent closes the pipe.
func (a *app) serve(ctx context.Context, state string) error {
	var lock *lockfile.Lock
	requests := json.NewDecoder(a.in)
	for {
		var q request
		if err := requests.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		var err error
		switch {
		case q.Do == "acquire":
			lock, err = lockfile.Acquire(ctx, state, lockfile.Options{Label: "selftest"})
		case q.Do == "write" && lock != nil:
			err = lock.WriteFile(state, []byte(q.Text), 0o600)
		default:
			err = fmt.Errorf("request %q makes no sense now", q.Do)
		}
		var r reply
		if lock != nil {
			r.Fence, r.LockID = lock.Token(), lock.ID()
		}
		if err != nil {
			f := explain(err)
			r.Error, r.Kind = f.Error, f.Kind
		}
		if err := writeJSON(a.out, r); err != nil {
			return err
		}
	}
	if lock != nil {
		lock.Release() // an overtaken child has nothing to release, and that is part of the test
	}
	return nil
}

// child is a child of the self-test, seen from the parent.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Reader
	ended   bool
	unwatch func() bool
}

// child starts one. When the test's time is up it is killed.
func (t *trial) child() (*child, error) {
	exe, err := os.Executable()
	if err != nil { // Linux without /proc
		if exe, err = exec.LookPath(os.Args[0]); err != nil {
			return nil, err
		}
	}
	c := &child{cmd: exec.Command(exe, childVerb, "--", t.state)}
	for _, kv := range os.Environ() {
		// The test must not mistake a run above it for its own.
		if !strings.HasPrefix(kv, "PROBATE_") || strings.HasPrefix(kv, "PROBATE_RECOVERY=") {
			c.cmd.Env = append(c.cmd.Env, kv)
		}
	}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.replies = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.unwatch = context.AfterFunc(t.ctx, func() { c.cmd.Process.Kill() })
	t.children = append(t.children, c)
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ask has the child do something. The error is the child's own, or that it did not answer.
func (c *child) ask(do, text string) (reply, error) {
	var r reply
	if err := writeJSON(c.in, request{do, text}); err != nil {
		return r, fmt.Errorf("ask the child to %s: %w", do, err)
	}
	line, err := c.replies.ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("the child did not answer to %s: %w", do, err)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, fmt.Errorf("the child answered %q to %s: %w", line, do, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("the child: %s", r.Error)
	}
	return r, nil
}

// kill kills the child and waits until it is gone.
func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the child: %w", err)
	}
	c.wait()
	return nil
}

func (c *child) wait() {
	c.cmd.Wait()
	c.unwatch()
	c.ended = true
}

// endChildren lets every child end by itself, stopped ones too.
func (t *trial) endChildren() {
	for _, c := range t.children {
		if c.ended {
			continue
		}
		c.in.Close()
		if t.ctx.Err() != nil {
			c.cmd.Process.Kill()
		}
		c.resume()
		c.wait()
	}
}
