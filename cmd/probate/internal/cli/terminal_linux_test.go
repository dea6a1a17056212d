package cli

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalPair makes a terminal: the end that a program sees, and the one that a person sees.
func terminalPair(t *testing.T) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return control, tty
}

// onTerminal starts probate as the leader of a session with a terminal of its own, and returns the
// other end of that terminal.
func onTerminal(t *testing.T, dir string, env []string, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	control, tty := terminalPair(t)
	defer tty.Close()
	cmd := exec.Command("probate", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if signal.Ignored(os.Interrupt) { // as it is below nohup, and what is taken is not inherited
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		defer signal.Ignore(os.Interrupt)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, control
}

// TestControlCReachesTheCommandOnce: the terminal sends it to the command and to probate, which
// must not send it on as well: programs take a second one for "at once".
func TestControlCReachesTheCommandOnce(t *testing.T) {
	for _, verb := range []string{"run", "write"} {
		t.Run(verb, func(t *testing.T) { controlCReachesTheCommandOnce(t, verb) })
	}
}

func controlCReachesTheCommandOnce(t *testing.T, verb string) {
	dir := t.TempDir()
	cmd, terminal := onTerminal(t, dir, nil, verb, "state", "--", "sh", "-c", `
		exec 1>&2
		trap 'n=$((n+1)); echo got' INT
		trap 'echo count $n; exit 7' TERM
		n=0; echo ready; while :; do read a; done`)
	count := ""
	for lines := bufio.NewScanner(terminal); lines.Scan(); {
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "ready":
			// probate sleeps while the command takes the signal of the terminal, so that another
			// one cannot melt into it; and what probate sends on comes in the order of their
			// numbers.
			cmd.Process.Signal(syscall.SIGSTOP)
			for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT,
				nil) == unix.EINTR {
			}
			terminal.WriteString("\x03")
		case strings.HasSuffix(line, "got") && count == "":
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Process.Signal(syscall.SIGCONT)
		case strings.HasPrefix(line, "count "):
			count = line
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("ended with %v, want exit code 7", err)
	}
	if count != "count 1" {
		t.Errorf("the command says %q, want one signal", count)
	}
	if _, err := os.Lstat(filepath.Join(dir, "state")); err == nil {
		t.Error("the state was made")
	}
}

// TestColourMarksOnlyTheVerdict on a terminal, and nothing where NO_COLOR is set.
func TestColourMarksOnlyTheVerdict(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.lock"), []byte("1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	coloured := regexp.MustCompile("\x1b\\[[0-9;]*m([^\x1b]*)\x1b\\[0m")
	for env, want := range map[string]string{
		"NO_COLOR=":  "unknown|unknown, record-foreign",
		"NO_COLOR=1": "",
		"TERM=dumb":  "",
	} {
		environ := []string{"NO_COLOR=", "TERM=xterm", env}
		cmd, terminal := onTerminal(t, dir, environ, "inspect", "state")
		var out strings.Builder
		for lines := bufio.NewScanner(terminal); lines.Scan(); {
			out.WriteString(lines.Text() + "\n")
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitUnknown {
			t.Fatalf("%s: exit code %d: %s", env, code, out.String())
		}
		var words []string
		for _, m := range coloured.FindAllStringSubmatch(out.String(), -1) {
			words = append(words, m[1])
		}
		if got := strings.Join(words, "|"); got != want {
			t.Errorf("%s: coloured are %q, want %q in:\n%s", env, got, want, out.String())
		}
		if want == "" && strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %q", env, out.String())
		}
	}
}
