package vfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	f, err := write(d, name, content)
	must{t}.ok(err)
	t.Cleanup(func() { f.Close() })
	return f
}

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
