// Command facts puts what several machines say about themselves side by side, for the summary of a
// CI run, and fails when a machine does not know what it must.
//
//	go run ./scripts/facts FOLDER
//
// FOLDER has one folder for each machine, named as its column shall be called, with two files:
//
//	probe.json      probate probe --json
//	selftest.jsonl  probate selftest --json
//
// The tables go to standard output, as Markdown; what is missing goes to standard error. Exit code
// 1 says that something was missing or that a self-test saw what must not be.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: go run ./scripts/facts FOLDER")
		return 2
	}
	entries, err := os.ReadDir(args[0])
	if err != nil {
		fmt.Fprintf(stderr, "facts: %v\n", err)
		return 1
	}
	var machines []machine
	for _, e := range entries {
		if e.IsDir() {
			machines = append(machines, read(filepath.Join(args[0], e.Name()), e.Name()))
		}
	}
	if len(machines) == 0 {
		fmt.Fprintf(stderr, "facts: %s has no folder of a machine in it\n", args[0])
		return 1
	}
	factTable(stdout, machines)
	stepTable(stdout, machines)
	code := 0
	for _, m := range machines {
		for _, p := range m.problems() {
			fmt.Fprintf(stderr, "facts: %s: %s\n", m.name, p)
			code = 1
		}
	}
	return code
}
