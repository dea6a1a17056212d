// Command testrun runs a `go test -json` command for CI: it prints the usual lines of go test, the
// whole output of what failed, and every skipped test with its reason. A skip that
// scripts/skips.txt does not allow by name fails the run: a test that silently stops running is
// worse than one that fails, for nobody looks.
//
//	go run ./scripts/testrun NAME go test -json [flags] packages
//
// NAME says which run this is (race, 386, wine, …) and selects the entries of the list.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

const (
	module   = "github.com/probate-dev/probate"
	skipList = "scripts/skips.txt"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) < 2 {
		fmt.Fprintln(stderr, "usage: go run ./scripts/testrun NAME go test -json [flags] packages")
		return 2
	}
	name, command := args[0], args[1:]
	text, err := os.ReadFile(skipList)
	if err != nil {
		fmt.Fprintf(stderr, "testrun: run it at the root of the repository: %v\n", err)
		return 1
	}
	list, err := parseSkips(string(text))
	if err != nil {
		fmt.Fprintf(stderr, "testrun: %s: %v\n", skipList, err)
		return 1
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(stderr, "testrun: %v\n", err)
		return 1
	}
	report, readErr := follow(out, stdout)
	err = cmd.Wait()
	code := 0
	var exit *exec.ExitError
	switch {
	case readErr != nil:
		fmt.Fprintf(stderr, "testrun: read the output of %s: %v\n", command[0], readErr)
		code = 1
	case errors.As(err, &exit):
		code = max(1, exit.ExitCode())
	case err != nil:
		fmt.Fprintf(stderr, "testrun: %v\n", err)
		code = 1
	case report.passed == 0:
		fmt.Fprintf(stderr, "testrun: %s: no test passed: is the list of packages right?\n", name)
		code = 1
	}
	if !report.judge(name, list, stdout) {
		code = max(1, code)
	}
	return code
}
