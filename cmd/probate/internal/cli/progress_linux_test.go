package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// listWithTicks lists a folder of 2500 locks, as often told to say how far it is as it listens.
func listWithTicks(t *testing.T, stderr io.Writer, json bool) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 2500 {
		path := filepath.Join(dir, fmt.Sprintf("s%04d.lock", i))
		if err := os.WriteFile(path, []byte(`{"v":3,"lease":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tick := make(chan time.Time)
	close(tick) // ready whenever it is looked at
	var out bytes.Buffer
	a := &app{out: &results{w: &out}, err: stderr, json: json}
	if err := a.list(context.Background(), dir, tick); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if !json {
		lines = lines[1:]
	}
	if len(lines) != 2500 {
		t.Errorf("%d lines", len(lines))
	}
	for i, line := range lines {
		if !strings.Contains(line, fmt.Sprintf("s%04d", i)) ||
			!strings.Contains(line, "record-newer") {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	return out.String()
}

// How far a listing is stands on a terminal, and is gone from it at the end.
func TestListProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	control, tty := terminalPair(t)
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(control) // until the other end is closed
		said <- string(text)
	}()
	out := listWithTicks(t, tty, false)
	tty.Close()
	text := <-said
	if strings.Contains(out, "so far") || strings.Contains(out, "\r") {
		t.Error("what is said of the progress is among the results")
	}
	shown := regexp.MustCompile(`\rprobate: (\d+) locks so far: 0 alive, 0 gone, (\d+) unknown`).
		FindAllStringSubmatch(text, -1)
	if len(shown) == 0 {
		t.Fatalf("no progress was shown: %q", text)
	}
	for _, m := range shown {
		if m[1] != m[2] {
			t.Errorf("%q", m[0])
		}
	}
	if left := strings.TrimRight(screen(text), " "); left != "" {
		t.Errorf("%q is left on the terminal", left)
	}
}

// screen is what one line of a terminal shows in the end.
func screen(text string) string {
	var line []byte
	at := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\r':
			at = 0
		case at < len(line):
			line[at] = c
			at++
		default:
			line = append(line, c)
			at++
		}
	}
	return string(line)
}

// Nobody sees a progress in a file, and programs that read JSON shall not.
func TestListProgressNowhereElse(t *testing.T) {
	t.Setenv("TERM", "xterm")
	var said bytes.Buffer
	listWithTicks(t, &said, false)
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	listWithTicks(t, file, false)
	control, tty := terminalPair(t)
	done := make(chan string)
	go func() {
		text, _ := io.ReadAll(control)
		done <- string(text)
	}()
	listWithTicks(t, tty, true)
	t.Setenv("TERM", "dumb")
	listWithTicks(t, tty, false)
	tty.Close()
	onFile, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if all := said.String() + string(onFile) + <-done; all != "" {
		t.Errorf("said: %q", all)
	}
}
