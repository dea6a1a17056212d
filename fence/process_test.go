package fence

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests start their own executable once more where they need other processes.

const childEnv = "FENCE_TEST_CHILD"

var children = map[string]func(args []string) error{
	// raise prints every number that it has raised to.
	"raise": func(args []string) error {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		c, err := Open(args[0])
		if err != nil {
			return err
		}
		for range n {
			now, err := up(c)
			if err != nil {
				return err
			}
			fmt.Println(now)
		}
		return nil
	},
	// hold stays inside until it is told to go, or killed.
	"hold": func(args []string) error {
		c, err := Open(args[0])
		if err != nil {
			return err
		}
		g, err := c.Hold(context.Background())
		if err != nil {
			return err
		}
		fmt.Println("inside")
		bufio.NewReader(os.Stdin).ReadString('\n')
		return g.Release()
	},
}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](os.Args[1:]); err != nil {
		fmt.Println("error: " + strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	fmt.Println("done")
}

func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func begin(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &child{cmd, in, bufio.NewScanner(out)}
}

func (c *child) expect(t testing.TB, line string) {
	t.Helper()
	if !c.out.Scan() || c.out.Text() != line {
		t.Fatalf("the child says %q, %v, want %q", c.out.Text(), c.out.Err(), line)
	}
}

// Six processes raise 3000 times together (fewer on Windows, where nobody is woken when the gate
// is let go), and are killed at random moments and replaced. No number is reported twice, each
// process sees them grow, and the counter is at least at the largest.
func TestProcesses(t *testing.T) {
	workers, raises := 6, 500
	if runtime.GOOS == "windows" {
		raises = 60
	}
	path := filepath.Join(t.TempDir(), "S.fence")
	var mu sync.Mutex
	given := map[Token]int{}
	kills, top := 0, Token(0)
	var wg sync.WaitGroup
	for id := range workers {
		wg.Go(func() {
			for left := raises; left > 0 && !t.Failed(); {
				cmd := command(t, "raise", path, strconv.Itoa(left))
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				killAfter, last := 1+rand.IntN(raises), Token(0)
				for lines := bufio.NewScanner(out); lines.Scan(); {
					n, err := strconv.ParseUint(lines.Text(), 10, 64)
					if err != nil {
						if lines.Text() != "done" {
							t.Errorf("a child says %s", lines.Text())
						}
						continue
					}
					now := Token(n)
					mu.Lock()
					if by, twice := given[now]; twice {
						t.Errorf("%d was given to %d and to %d", now, by, id)
					}
					given[now] = id
					top = max(top, now)
					mu.Unlock()
					if now <= last {
						t.Errorf("%d after %d", now, last)
					}
					last = now
					left--
					if killAfter--; killAfter == 0 {
						cmd.Process.Kill()
						mu.Lock()
						kills++
						mu.Unlock()
					}
				}
				cmd.Wait()
			}
		})
	}
	wg.Wait()
	c, err := Open(path)
	check(t, err)
	now, err := held(c)
	if err != nil || now < top || now > top+Token(kills) {
		t.Errorf(
			"the counter is at %d, %v; the largest number given is %d, with %d kills",
			now,
			err,
			top,
			kills,
		)
	}
	if len(given) < workers*raises {
		t.Errorf("%d numbers were given, want %d", len(given), workers*raises)
	}
	only(t, path)
	t.Logf("%d numbers, %d kills, counter at %d", len(given), kills, now)
}

// A process that dies inside lets the gate go; one that lives keeps it, and is waited for.
func TestKilledInside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "S.fence")
	c, err := Open(path)
	check(t, err)
	kid := begin(t, command(t, "hold", path))
	kid.expect(t, "inside")
	_, err = c.TryHold()
	want(t, err, ErrGateBusy)
	if now, err := c.Current(); now != 0 || err != nil { // reading does not wait
		t.Fatalf("%d, %v", now, err)
	}
	kid.cmd.Process.Kill()
	kid.cmd.Wait()
	if now, err := up(c); now != 1 || err != nil {
		t.Fatalf("%d, %v", now, err)
	}
	kid = begin(t, command(t, "hold", path))
	kid.expect(t, "inside")
	ctx, cancel := context.WithCancel(context.Background())
	tries := 0
	c.opts.Pause = func(context.Context, time.Duration) error { // it waits; then the child leaves
		if tries++; tries == 3 {
			kid.in.Write([]byte("\n"))
			kid.expect(t, "done")
		}
		return nil
	}
	defer cancel()
	g, err := c.Hold(ctx)
	check(t, err)
	check(t, g.Release())
	if tries < 3 {
		t.Errorf("inside after %d tries", tries)
	}
}
