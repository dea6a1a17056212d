//go:build unix

package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// raced is a probate write whose CMD has said on another descriptor how far it is.
type raced struct {
	t     *testing.T
	state string
	cmd   *exec.Cmd
	says  *bufio.Reader
}

const racedOld = "the old content\n"

// race starts a write, with a process group of its own, of a CMD that says a line on descriptor 3.
// It returns when the line has come.
func race(t *testing.T, script string) *raced {
	t.Helper()
	r := &raced{t: t, state: filepath.Join(t.TempDir(), "state")}
	if err := os.WriteFile(r.state, []byte(racedOld), 0o600); err != nil {
		t.Fatal(err)
	}
	says, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { says.Close() })
	r.says = bufio.NewReader(says)
	r.cmd = exec.Command("probate", "write", r.state, "--", "sh", "-c", script)
	r.cmd.ExtraFiles = []*os.File{w}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.says.ReadString('\n'); err != nil {
		t.Fatalf("CMD ended before it said anything: %v", err)
	}
	return r
}

// end waits for all of it, and returns how write ended and what the state is.
func (r *raced) end() (syscall.WaitStatus, string) {
	r.t.Helper()
	io.Copy(io.Discard, r.says) // until the last process has ended
	r.cmd.Wait()
	content, err := os.ReadFile(r.state)
	if err != nil {
		r.t.Error(err)
	}
	if _, err := os.Lstat(r.state + ".lock"); err == nil {
		r.t.Error("the lock was not released")
	}
	return r.cmd.ProcessState.Sys().(syscall.WaitStatus), string(content)
}

// A signal that reaches CMD and write together ends CMD, which ends well for it, whole output and
// all: that must never become the state, whoever notices what first.
func TestSignalledCommandWritesNothing(t *testing.T) {
	for i := range 40 {
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[i%3]
		if signal.Ignored(sig) { // by who runs the tests, and so by all of them
			sig = syscall.SIGTERM
		}
		r := race(t, `trap 'echo whole; exit 0' INT TERM HUP
echo ready >&3; while :; do read line <&- || :; done`)
		if err := syscall.Kill(-r.cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		status, content := r.end()
		if status.ExitStatus() != 128+int(sig) || content != racedOld {
			t.Errorf("round %d, %v: ended with %#x, and the state is %q", i, sig, status, content)
		}
	}
}

// A signal at any moment around the end of CMD: what write says of the state is true.
func TestSignalAgainstTheEndOfCommand(t *testing.T) {
	written, left := 0, 0
	for i := range 60 {
		r := race(t, `trap '' TERM; echo new; echo ready >&3`)
		for range i * i * 40 {
			_ = os.Getpid() // a while, longer every time, and no wish how long
		}
		_ = syscall.Kill(r.cmd.Process.Pid, syscall.SIGTERM)
		status, content := r.end()
		switch {
		case status.Exited() && status.ExitStatus() == 0 && content == "new\n":
			written++
		case status.Exited() && status.ExitStatus() == 143 && content == racedOld:
			left++
		case status.Signaled() && status.Signal() == syscall.SIGTERM && content == "new\n":
			written++ // after everything was done and released
		default:
			t.Errorf("round %d: ended with %#x, and the state is %q", i, status, content)
		}
	}
	t.Logf("%d written, %d left alone", written, left)
}
