package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`, see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// skip is a test that was skipped, and what it said.
type skip struct{ pkg, test, said string }

type report struct {
	passed, failed int
	skips          []skip
}

// follow reads the events to their end and prints what people want to see of them.
func follow(in io.Reader, out io.Writer) (report, error) {
	var r report
	said := map[[2]string]*strings.Builder{}
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				out.Write(line) // go itself, or a program that it runs, has something to say
			} else {
				r.take(e, said, out)
			}
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
}

func (r *report) take(e event, said map[[2]string]*strings.Builder, out io.Writer) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		io.WriteString(out, e.Output)
	case "output":
		switch {
		case e.Test == "":
			if worthShowing(e.Output) {
				io.WriteString(out, e.Output)
			}
		case !strings.HasPrefix(e.Output, "=== "): // RUN, PAUSE, CONT: without -v, nobody sees them
			if said[key] == nil {
				said[key] = &strings.Builder{}
			}
			said[key].WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			if e.Action == "fail" { // a test that crashed or never ended has no verdict of its own
				for k, text := range said {
					if k[0] == e.Package {
						io.WriteString(out, text.String())
					}
				}
			}
			return
		}
		text := ""
		if said[key] != nil {
			text = said[key].String()
			delete(said, key)
		}
		switch e.Action {
		case "pass":
			r.passed++
		case "fail":
			r.failed++
			io.WriteString(out, text)
		default:
			pkg := strings.TrimPrefix(e.Package, module+"/")
			r.skips = append(r.skips, skip{pkg, e.Test, reasonIn(text)})
		}
	}
}

// worthShowing drops the lines that go test itself would not print without -v.
func worthShowing(line string) bool {
	return line != "PASS\n" && !strings.HasSuffix(line, "[no test files]\n") && line != "\n"
}

// reasonIn finds what a test said when it was skipped: the last line that is not go test's own.
func reasonIn(output string) string {
	said := "(it gave no reason)"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "--- ") || line == "" {
			continue
		}
		if _, reason, ok := strings.Cut(line, ": "); ok {
			line = reason
		}
		said = line
	}
	return said
}

// judge compares the skips with the list and prints the sum of the run.
func (r *report) judge(name string, list []allowed, out io.Writer) bool {
	fmt.Fprintf(out, "%s: %d passed, %d failed, %d skipped\n", name, r.passed, r.failed,
		len(r.skips))
	good := true
	for _, s := range r.skips {
		if reason, ok := find(list, name, s); ok {
			fmt.Fprintf(out, "  skipped %s %s: %s [listed: %s]\n", s.pkg, s.test, s.said, reason)
			continue
		}
		good = false
		fmt.Fprintf(out, "  NOT ALLOWED TO SKIP %s %s: %s\n", s.pkg, s.test, s.said)
	}
	if !good {
		fmt.Fprintf(out, "next: make them run here, or list them with a reason in %s\n", skipList)
	}
	return good
}
