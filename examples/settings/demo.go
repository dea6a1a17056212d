package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	forgotten = "{\n  \"theme\": \"dark\"\n  \"fontSize\": 14\n}\n" // a comma
	mended    = "{\n  \"theme\": \"dark\",\n  \"fontSize\": 14\n}\n"
)

// demonstrate has a program that watches, programs that change the file, and a person with an
// editor.
func demonstrate(ctx context.Context, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "settings-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")

	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // nobody waits for ever for the watcher
	watcher, err := self(ctx, "watch", path)
	if err != nil {
		cancel()
		return err
	}
	watcher.Stderr = stderr
	says, err := watcher.StdoutPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		cancel()
		return err
	}
	defer watcher.Wait() // its end is the kill that follows from cancel
	defer cancel()
	watched := bufio.NewScanner(says)

	steps := []struct {
		who   string
		what  func() (code int, err error)
		code  int    // of what
		sight string // what the watcher says of it
	}{
		{"nobody has changed anything yet", nothing, 0, "no settings yet"},
		{"a program sets the theme", program(ctx, "set", path, "theme", "light"), 0,
			"theme=light fontSize=0"},
		{"a program sets the font size", program(ctx, "set", path, "fontSize", "12"), 0,
			"theme=light fontSize=12"},
		{"a person edits the file", person(path, `{"theme": "dark", "fontSize": 12}`), 0,
			"theme=dark fontSize=12"},
		{"a person makes a mistake", person(path, forgotten), 0, "line 3"},
		{"a program is refused", program(ctx, "set", path, "theme", "blue"), 3, ""},
		{"a person puts in the comma", person(path, mended), 0, "theme=dark fontSize=14"},
		{"a program sets the theme", program(ctx, "set", path, "theme", "blue"), 0,
			"theme=blue fontSize=14"},
		{"an editor crashes while it writes", person(path, `{"theme": "gre`), 0, "cut short"},
		{"the previous version is put back", program(ctx, "restore", path), 0,
			"theme=dark fontSize=14"},
	}
	for _, step := range steps {
		code, err := step.what()
		if err != nil {
			return err
		}
		if code != step.code {
			return fmt.Errorf("%s: exit code %d", step.who, code)
		}
		saw := fmt.Sprint("exit code ", code)
		if step.sight != "" {
			if saw, err = await(watched, step.sight); err != nil {
				return fmt.Errorf("%s: %w", step.who, err)
			}
		}
		if _, err := fmt.Fprintf(stdout, "%s\n  %s\n", step.who, saw); err != nil {
			return err
		}
	}
	damaged, err := filepath.Glob(path + ".damaged-*")
	if err == nil && len(damaged) != 1 {
		err = fmt.Errorf("what the editor left is not kept: %q", damaged)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, "what the editor left is kept as settings.json.damaged-…")
	return err
}

// self is this program again.
func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, path, args...), nil
}

func nothing() (int, error) { return 0, nil }

// program runs this program, and returns its exit code.
func program(ctx context.Context, args ...string) func() (int, error) {
	return func() (int, error) {
		cmd, err := self(ctx, args...)
		if err != nil {
			return 0, err
		}
		err = cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode(), nil
		}
		return 0, err
	}
}

// person writes the file as an editor does: in place, and without a lock.
func person(path, text string) func() (int, error) {
	return func() (int, error) { return 0, os.WriteFile(path, []byte(text), 0o644) }
}

// await returns the first line that contains what is waited for. Lines before it may say that the
// file is cut short: who writes in place can be seen half-way.
func await(lines *bufio.Scanner, what string) (string, error) {
	for lines.Scan() {
		if strings.Contains(lines.Text(), what) {
			return lines.Text(), nil
		}
	}
	return "", errors.Join(errors.New("the watcher has ended"), lines.Err())
}
