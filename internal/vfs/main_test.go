package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The tests start their own executable once more where they need a second process, a process of
// another user, or one that may be spoilt. A child says what it found in lines, and waits for
// lines.

const childEnv = "VFS_TEST_CHILD"

var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	args := os.Args[1:]
	if err := children[name](args); err != nil {
		fmt.Println("error: " + strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	fmt.Println("done")
}

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

// skip is a failure where the environment promises that everything can be tried.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("PROBATE_TEST_NOSKIP") != "" {
		t.Fatal("must not be skipped: " + why)
	}
	t.Skip(why)
}

// must makes tests short: must(f(x)) fails the test on an error.
type must struct{ testing.TB }

func (m must) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m must) is(err, want error) {
	m.Helper()
	if !errors.Is(err, want) {
		m.Fatalf("got %v, want %v", err, want)
	}
}

// places are the directories that tests run in: one on disk, one in memory.
func places(t *testing.T, fn func(t *testing.T, d Dir)) {
	t.Helper()
	roots := map[string]string{"disk": ""}
	if runtime.GOOS == "linux" {
		roots["memory"] = "/dev/shm"
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) { fn(t, openTemp(t, root)) })
	}
}

func openTemp(t testing.TB, root string) Dir {
	t.Helper()
	path := t.TempDir()
	if root != "" {
		var err error
		if path, err = os.MkdirTemp(root, "vfs-test-"); err != nil {
			skip(t, err.Error())
		}
		t.Cleanup(func() { os.RemoveAll(path) })
	}
	path, err := filepath.EvalSymlinks(path)
	must{t}.ok(err)
	d, err := OS().OpenDir(path)
	must{t}.ok(err)
	t.Cleanup(func() { d.Close() })
	return d
}

// put makes a file with content and returns it open.
func put(t testing.TB, d Dir, name, content string) File {
	t.Helper()
	f, err := d.Create(name, 0o600)
	must{t}.ok(err)
	t.Cleanup(func() { f.Close() })
	_, err = f.WriteAt([]byte(content), 0)
	must{t}.ok(err)
	return f
}

func content(t testing.TB, d Dir, name string) string {
	t.Helper()
	// Not with package os, which on Windows shares too little to open what its maker has open.
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

func write(d Dir, name, content string) (File, error) {
	f, err := d.Create(name, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
