package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// The programs that the scripts use besides probate, so that one script serves every system: what
// Unix has of its own is made up for on Windows.

// unixTools are programs of every Unix. Elsewhere the scripts bring their own.
func unixTools() map[string]func() {
	if runtime.GOOS != "windows" {
		return nil
	}
	return map[string]func(){
		"true":  func() {},
		"echo":  func() { fmt.Println(strings.Join(os.Args[1:], " ")) },
		"cat":   func() { orDie("cat", catenate(os.Args[1:])) },
		"touch": func() { orDie("touch", touch(os.Args[1:])) },
	}
}

func orDie(tool string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", tool, err)
		os.Exit(97)
	}
}

func catenate(files []string) error {
	if len(files) == 0 {
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		os.Stdout.Write(content)
	}
	return nil
}

func touch(files []string) error {
	for _, name := range files {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// loggedMain is "logged NAME PROGRAM ARG…": what the program says goes to NAME.out and NAME.err as
// it comes, and its exit code to NAME.code when it has ended. It ends with that code itself.
func loggedMain() {
	name := os.Args[1]
	out, err := os.Create(name + ".out")
	orDie("logged", err)
	errs, err := os.Create(name + ".err")
	orDie("logged", err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, errs
	code, err := exitCode(cmd.Run())
	orDie("logged", err)
	orDie("logged", writeWhole(name+".code", strconv.Itoa(code)+"\n"))
	os.Exit(code)
}

func exitCode(err error) (int, error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// diesMain is "dies CODE": it exits with that code.
func diesMain() {
	code, err := strconv.ParseInt(os.Args[1], 0, 64)
	orDie("dies", err)
	os.Exit(int(code))
}

// stepsMain is "steps FILE", a command for probate run that runs others: each line of FILE is one,
//
//	[CODE] PROGRAM ARG… [<FILE] [>FILE] [>>FILE] [2>FILE] [2>1]
//
// which must end with CODE (0 unless it is said, * for any). Words are quoted with ' and $NAME is a
// variable outside of quotes, as in a script of testscript. cd DIR, unset NAME and rm FILE are done
// by steps itself. When a step ends otherwise, steps ends with 97.
func stepsMain() {
	file := os.Args[1]
	text, err := os.ReadFile(file)
	orDie("steps", err)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		s, err := parseStep(line)
		if err == nil && s.words != nil {
			err = s.do()
		}
		if err != nil {
			orDie("steps", fmt.Errorf("%s:%d: %s: %w", file, n, strings.TrimSpace(line), err))
		}
	}
}

type stepLine struct {
	code          int // that must come; -1 for any
	words         []string
	in, out, errs string
	more          bool // out is appended to
}

func parseStep(line string) (s stepLine, err error) {
	words, err := splitWords(strings.TrimSpace(line))
	if err != nil || len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return s, err
	}
	if words[0] == "*" {
		s.code, words = -1, words[1:]
	} else if code, err := strconv.Atoi(words[0]); err == nil {
		s.code, words = code, words[1:]
	}
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "<"):
			s.in = w[1:]
		case strings.HasPrefix(w, "2>"):
			s.errs = w[2:]
		case strings.HasPrefix(w, ">>"):
			s.out, s.more = w[2:], true
		case strings.HasPrefix(w, ">"):
			s.out = w[1:]
		default:
			s.words = append(s.words, w)
		}
	}
	if len(s.words) == 0 {
		return s, errors.New("no program")
	}
	return s, nil
}

// splitWords splits at blanks, expands variables, and takes what is in single quotes as it is.
func splitWords(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
		word := ""
		for line != "" && line[0] != ' ' && line[0] != '\t' {
			if line[0] != '\'' {
				end := strings.IndexAny(line, " \t'")
				if end < 0 {
					end = len(line)
				}
				word += os.Expand(line[:end], os.Getenv)
				line = line[end:]
				continue
			}
			quoted, rest, ok := strings.Cut(line[1:], "'")
			if !ok {
				return nil, errors.New("a quote without an end")
			}
			word, line = word+quoted, rest
		}
		words = append(words, word)
	}
	return words, nil
}

func (s stepLine) do() error {
	switch name, args := s.words[0], s.words[1:]; {
	case name == "cd" && len(args) == 1:
		return os.Chdir(args[0])
	case name == "rm" && len(args) == 1:
		return os.Remove(args[0])
	case name == "unset":
		for _, variable := range args {
			os.Unsetenv(variable)
		}
		return nil
	}
	cmd := exec.Command(s.words[0], s.words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if s.more {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	for _, r := range []struct {
		name string
		how  int
		to   func(*os.File)
	}{
		{s.in, os.O_RDONLY, func(f *os.File) { cmd.Stdin = f }},
		{s.out, how, func(f *os.File) { cmd.Stdout = f }},
		{s.errs, how, func(f *os.File) { cmd.Stderr = f }},
	} {
		if r.name == "" || r.name == "1" {
			continue
		}
		f, err := os.OpenFile(r.name, r.how, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		r.to(f)
	}
	if s.errs == "1" { // 2>1: both go where standard output goes
		cmd.Stderr = cmd.Stdout
	}
	code, err := exitCode(cmd.Run())
	if err == nil && s.code >= 0 && code != s.code {
		err = fmt.Errorf("exit code %d, want %d", code, s.code)
	}
	return err
}

// same GLOB FILE: the one file whose name matches has the content of FILE.
func sameCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same GLOB FILE")
	}
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(names) != 1 {
		ts.Fatalf("%s matches %q (%v)", args[0], names, err)
	}
	if got, want := ts.ReadFile(names[0]), ts.ReadFile(args[1]); got != want {
		ts.Fatalf("%s is %q, want %q", names[0], got, want)
	}
}

// append FILE TEXT: TEXT, without a newline, at the end of FILE.
func appendCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	ts.Check(err)
	_, err = f.WriteString(args[1])
	ts.Check(errors.Join(err, f.Close()))
}

// replace FILE OLD NEW OUT: OUT becomes FILE with NEW in place of OLD.
func replaceCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace FILE OLD NEW OUT")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), args[1], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(text), 0o666))
}

// zeros FILE SIZE [KEEP]: FILE begins with KEEP bytes of what it has, and ends after SIZE bytes.
func zerosCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: zeros FILE SIZE [KEEP]")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	keep := int64(0)
	if len(args) > 2 {
		keep, err = strconv.ParseInt(args[2], 10, 64)
		ts.Check(err)
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_RDWR, 0o666)
	ts.Check(err)
	ts.Check(errors.Join(f.Truncate(keep), f.Truncate(size), f.Close()))
}

// nowhere FILE DIR: the text of FILE, which has one, stands in no other file below DIR.
func nowhereCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: nowhere FILE DIR")
	}
	text := strings.TrimSpace(ts.ReadFile(args[0]))
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	own := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || name == own {
			return err
		}
		content, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(content), text) {
			err = fmt.Errorf("%s holds the text of %s", name, args[0])
		}
		return err
	}))
}

// empty DIR: nothing is in it.
func emptyCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil || len(entries) > 0 {
		ts.Fatalf("%s has %v (%v)", args[0], entries, err)
	}
}

// without VAR PROGRAM ARG…: exec, in an environment that does not have VAR.
func withoutMain() {
	os.Unsetenv(os.Args[1])
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	code, err := exitCode(cmd.Run())
	orDie("without", err)
	os.Exit(code)
}
