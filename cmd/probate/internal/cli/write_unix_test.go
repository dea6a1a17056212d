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

// A terminal's Ctrl-C and hangup, and a service manager's stop, reach the producer and write at
// once. The end of the producer's half of the output must never become the state.
func TestInterruptedPipelineWritesNothing(t *testing.T) {
	const script = `(echo half; while ! test -e state.lock; do :; done; echo reads >&3
exec sleep 60) | probate write state`
	const whole = "the old content\n"
	for i := range 40 {
		dir := t.TempDir()
		state := filepath.Join(dir, "state")
		if err := os.WriteFile(state, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.ExtraFiles = dir, []*os.File{w}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		all := bufio.NewReader(r)
		if _, err := all.ReadString('\n'); err != nil {
			t.Fatalf("the pipeline ended before it was interrupted: %v", err)
		}
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[i%3]
		if signal.Ignored(sig) { // by who runs the tests, and so by all of the pipeline
			sig = syscall.SIGTERM
		}
		if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, all) // until the last of them has ended
		r.Close()
		cmd.Wait()
		if got, err := os.ReadFile(state); err != nil || string(got) != whole {
			t.Errorf("round %d, %v: the state is %q, %v", i, sig, got, err)
		}
		if _, err := os.Lstat(state + ".lock"); err == nil {
			t.Errorf("round %d, %v: the lock was not released", i, sig)
		}
	}
}
