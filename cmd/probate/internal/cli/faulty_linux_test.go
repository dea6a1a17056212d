package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/vfs"
	"github.com/probate-dev/probate/internal/vfs/faultfs"
	"github.com/probate-dev/probate/lockfile"
)

// faultOrder is one run of the command with a fault, as the test tells it to a child that runs many
// of them, one after the other.
type faultOrder struct {
	Args  []string
	State string
	Below bool // under a lock of that child, as probate run gives it to CMD
	At    int  // the operation that fails; 0: none
	Errno syscall.Errno
	Half  bool // after half of the write
}

// faultResult is what became of it.
type faultResult struct {
	Code     int
	Out, Err string
	Ops      []string // the operations of a run without a fault; "half" behind those that can be
	Hit      string   // what failed
	CMD      *cmdSaw  // nil when CMD did not run
}

// cmdSaw is the lock as it stood when CMD of run ran, looked at from outside.
type cmdSaw struct {
	ID      string // that CMD was told
	LockID  string
	Reason  identity.Reason
	Format  string
	Verdict string
}

func init() { programs["faulty"] = faultyMain }

// faultyMain runs the command in this process, with faults, for every line of its input.
func faultyMain() {
	var armed atomic.Bool
	var mu sync.Mutex
	var order faultOrder
	var result faultResult
	var n int
	vfs.Interpose(func(under vfs.FS) vfs.FS {
		return faultfs.Wrap(under, func(op faultfs.Op) faultfs.Action {
			if !armed.Load() {
				return faultfs.Action{}
			}
			mu.Lock()
			defer mu.Unlock()
			if n++; order.At == 0 {
				text := op.String()
				if op.Writes {
					text += " half"
				}
				result.Ops = append(result.Ops, text)
			}
			if n != order.At {
				return faultfs.Action{}
			}
			result.Hit = op.String()
			act := faultfs.Action{Half: order.Half}
			if order.Errno != 0 {
				act.Err = order.Errno
			}
			return act
		})
	})
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		mu.Lock()
		order, result, n = faultOrder{}, faultResult{}, 0
		err = json.Unmarshal(line, &order)
		mu.Unlock()
		if err != nil {
			panic(err)
		}
		done := func() {}
		if order.Below {
			done = pretendRun(order.State)
		}
		cmd := &scriptedCMD{state: order.State, armed: &armed}
		cmd.input, cmd.letGo = io.Pipe()
		var input io.Reader = cmd.input
		if order.Args[0] == "write" {
			input = strings.NewReader(newContent)
		}
		var said bytes.Buffer
		armed.Store(true)
		code := Run(context.Background(), order.Args, input, cmd, &said)
		armed.Store(false)
		done()
		mu.Lock()
		result.Code, result.Out, result.Err, result.CMD = code, cmd.said(), said.String(), cmd.saw
		reply, err := json.Marshal(result)
		mu.Unlock()
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", reply)
	}
}

// pretendRun makes this process one that probate run started.
func pretendRun(state string) (done func()) {
	lock, err := lockfile.TryAcquire(state, lockfile.Options{})
	if err != nil {
		panic(err)
	}
	for _, kv := range lock.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		os.Setenv(name, value)
	}
	return func() {
		for _, kv := range lock.Environ() {
			name, _, _ := strings.Cut(kv, "=")
			os.Unsetenv(name)
		}
		if err := lock.Release(); err != nil {
			panic(err)
		}
	}
}

// scriptedCMD is the standard output of a CMD that says its lock id and waits for a line. What it
// says is taken as the moment to look at the lock.
type scriptedCMD struct {
	state string
	armed *atomic.Bool
	input *io.PipeReader
	letGo *io.PipeWriter

	mu  sync.Mutex
	out bytes.Buffer
	saw *cmdSaw
}

const cmdSays = "under "

// faultyCMD is a CMD of run for scriptedCMD.
var faultyCMD = []string{"sh", "-c", `echo "` + cmdSays + `$PROBATE_LOCK_ID"; read -r go`}

func (c *scriptedCMD) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Write(p)
	_, id, ok := strings.Cut(c.out.String(), cmdSays)
	if ok && c.saw == nil && strings.HasSuffix(id, "\n") {
		c.armed.Store(false)
		in, err := lockfile.Inspect(c.state, lockfile.Options{})
		c.armed.Store(true)
		if err != nil {
			in.Sentence = err.Error()
		}
		c.saw = &cmdSaw{ID: strings.TrimSpace(id), LockID: in.LockID, Reason: in.Reason,
			Format: in.Format, Verdict: in.Finding.String()}
		go func() {
			_, _ = io.WriteString(c.letGo, "go\n")
			_ = c.letGo.Close()
		}()
	}
	return len(p), nil
}

func (c *scriptedCMD) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// faulty is such a child.
type faulty struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies *bufio.Reader
}

func startFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{t: t, cmd: as("faulty")}
	f.cmd.Stderr = os.Stderr
	var err error
	f.in, err = f.cmd.StdinPipe()
	check(t, err)
	out, err := f.cmd.StdoutPipe()
	check(t, err)
	f.replies = bufio.NewReader(out)
	check(t, f.cmd.Start())
	return f
}

func (f *faulty) run(o faultOrder) (r faultResult) {
	f.t.Helper()
	line, err := json.Marshal(o)
	check(f.t, err)
	_, err = fmt.Fprintf(f.in, "%s\n", line)
	check(f.t, err)
	reply, err := f.replies.ReadBytes('\n')
	if err != nil {
		f.t.Fatalf("%+v: no answer: %v", o, err)
	}
	check(f.t, json.Unmarshal(reply, &r))
	return r
}

// kill ends the child, as the end of the command does.
func (f *faulty) kill() {
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}
