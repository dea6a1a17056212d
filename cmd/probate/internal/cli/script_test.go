package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probate-dev/probate/probe"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	maps.Copy(programs, unixTools())
	testscript.Main(m, programs)
}

// programs are what this test binary is besides, by the name it is started under.
var programs = map[string]func(){
	"probate": func() {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	},
	"hold": holdMain, "logged": loggedMain, "steps": stepsMain, "dies": diesMain,
	"without": withoutMain,
}

// TestScript runs every script below testdata/script with the real binary and real processes.
func TestScript(t *testing.T) {
	// Who starts the tests may ignore signals (nohup, a background job of a script), and so would
	// all children. Where they are handled here, children start with the default.
	for _, sig := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(sig) {
			ch := make(chan os.Signal, 1)
			signal.Notify(ch, sig)
			t.Cleanup(func() { signal.Stop(ch) })
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			// A test run may itself be under probate run.
			for _, kv := range os.Environ() {
				if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PROBATE_") {
					env.Setenv(name, "")
				}
			}
			env.Setenv("NO_COLOR", "")
			// shell functions of the scripts called field-…
			field, err := filepath.Abs(filepath.Join("testdata", "field.sh"))
			if err != nil {
				return err
			}
			env.Setenv("FIELD", field)
			env.Setenv("GOOS", runtime.GOOS)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else every process ends a second late
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exitsCmd, "await": awaitCmd, "signal": signalCmd, "json": jsonCmd,
			"field": fieldCmd, "same": sameCmd, "append": appendCmd, "replace": replaceCmd,
			"zeros": zerosCmd, "nowhere": nowhereCmd, "empty": emptyCmd, "pids": pidsCmd,
			"gone": goneCmd,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "casefold": // ext4 can be told not to tell spellings apart
				_, err := os.Stat("/sys/fs/ext4/features/casefold")
				return err == nil, nil
			case "wine": // for what Wine does otherwise than Windows, one by one
				return probetest.OnWine(), nil
			// what a killed process leaves behind can be proven gone
			case "proving":
				host, self := probe.Real().Host(), probe.Real().Self()
				return host.Boot.ID.Known && self.Start.Known, nil
			// every process can be asked for its descriptors: sandboxes forbid it to root too
			case "scan":
				f, err := os.Open("script_test.go")
				if err != nil {
					return false, err
				}
				defer f.Close()
				return probe.Real().Openers(f.Fd()).Incomplete == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// patience bounds every wait for something that must happen; nothing is ever concluded from time.
const patience = 2 * time.Minute

// holdMain is a command for probate run: "hold FILE" writes its own process number and its parent's
// to FILE, and waits for a signal that it may handle. It notes the signal in FILE.got, and exits
// with 40 and the number of the signal.
func holdMain() {
	file := os.Args[1]
	got := signalsTo(file)
	ready := fmt.Sprintf("%d %d\n", os.Getpid(), os.Getppid())
	if err := writeWhole(file, ready); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {
	case sig := <-got:
		writeWhole(file+".got", sig.String()+"\n")
		os.Exit(40 + signalNumber(sig))
	case <-time.After(2 * patience): // the test has died
		os.Exit(99)
	}
}

func writeWhole(file, content string) error {
	tmp := file + ".part"
	if err := os.WriteFile(tmp, []byte(content), 0o666); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// exits CODE PROGRAM [ARG…]: the program ends with that code. stdout and stderr work afterwards.
func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// await FILE [REGEXP]: wait until the file is there, and matches.
func awaitCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await FILE [REGEXP]")
	}
	re := regexp.MustCompile("")
	if len(args) == 2 {
		re = regexp.MustCompile("(?m)" + args[1])
	}
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollStep) {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		last = string(content)
		if err == nil && re.MatchString(last) {
			return
		}
	}
	ts.Fatalf("waited %v for %s; it has %q", patience, strings.Join(args, " "), last)
}

// signal NAME FILE [wrapper]: send a signal to the hold process that wrote FILE, or to its parent.
// After KILL the process is gone.
func signalCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: signal NAME FILE [wrapper]")
	}
	var pids [2]int
	if _, err := fmt.Sscan(ts.ReadFile(args[1]), &pids[0], &pids[1]); err != nil {
		ts.Fatalf("%s: %v", args[1], err)
	}
	pid := pids[0]
	if len(args) > 2 {
		pid = pids[1]
	}
	sendSignal(ts, args[0], ts.MkAbs(args[1]), pid)
	if args[0] == "KILL" {
		awaitGone(ts, pid, probe.Missing, probe.Exited)
	}
}

func awaitGone(ts *testscript.TestScript, pid int, how ...probe.Presence) {
	until(ts, fmt.Sprint("process ", pid, " is gone"), func() bool {
		return slices.Contains(how, probe.Real().Process(pid).Presence)
	})
}

func until(ts *testscript.TestScript, what string, met func() bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pollStep) {
		if met() {
			return
		}
	}
	ts.Fatalf("waited %v until %s", patience, what)
}

// gone PID: wait until the kernel knows no such process.
func goneCmd(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) != 1 {
		ts.Fatalf("usage: gone PID")
	}
	awaitGone(ts, pid, probe.Missing)
}

// pids FILE VAR VAR [N]: put the numbers of the hold process that wrote FILE and of its parent into
// variables, N added to the first.
func pidsCmd(ts *testscript.TestScript, neg bool, args []string) {
	var pids [2]int
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: pids FILE VAR VAR [N]")
	}
	if _, err := fmt.Sscan(ts.ReadFile(args[0]), &pids[0], &pids[1]); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	if len(args) == 4 {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		pids[0] += n
	}
	ts.Setenv(args[1], strconv.Itoa(pids[0]))
	ts.Setenv(args[2], strconv.Itoa(pids[1]))
}

// json stdout|stderr KEY REGEXP: every line is a JSON object, and in one of them the value at the
// dotted KEY, as JSON, matches. Negated: in none.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json stdout|stderr KEY REGEXP")
	}
	re, found, seen := regexp.MustCompile(args[2]), false, []string{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("not JSON: %q: %v", line, err)
		}
		if _, ok := v.(map[string]any); !ok {
			ts.Fatalf("not an object: %q", line)
		}
		value, there := at(v, args[1])
		if there {
			text, _ := json.Marshal(value)
			seen = append(seen, string(text))
			found = found || re.Match(text)
		}
	}
	if found == neg {
		ts.Fatalf("%s is %v", args[1], seen)
	}
}

func at(v any, key string) (any, bool) {
	for part := range strings.SplitSeq(key, ".") {
		switch node := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = node[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// field VAR KEY: put the string at the dotted KEY of the one JSON object on stdout into a variable.
func fieldCmd(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil || neg ||
		len(args) != 2 {
		ts.Fatalf("usage: field VAR KEY, after one JSON object: %v", err)
	}
	value, ok := at(v, args[1])
	if !ok {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}
