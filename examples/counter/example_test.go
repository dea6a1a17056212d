package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The program starts itself again. In a test, that is the test program, which is the program when
// this variable is set.
const asProgram = "COUNTER_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Setenv(asProgram, "1")
	os.Exit(m.Run())
}

func Example() {
	code := run(context.Background(), nil, os.Stdout, os.Stderr)
	fmt.Println("exit code", code)
	// Output:
	// 4 processes added 25 each: the counter is 100
	// exit code 0
}

func Example_file() {
	dir, err := os.MkdirTemp("", "counter-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visits.json")
	run(context.Background(), []string{path}, os.Stdout, os.Stderr)
	run(context.Background(), []string{"-n", "41", path}, os.Stdout, os.Stderr)
	text, err := os.ReadFile(path)
	fmt.Print(string(text), err, "\n")
	// Output:
	// 1
	// 42
	// {"n":42}
	// <nil>
}

func Example_usage() {
	fmt.Println(run(context.Background(), []string{"-h"}, os.Stdout, os.Stderr))
	fmt.Println(run(context.Background(), []string{"-n", "0", "x"}, os.Stdout, os.Stdout))
	// Output:
	// usage: counter [-n TIMES] [FILE]
	//
	// Adds one to the number in FILE, TIMES times (1), and prints the number.
	// Without FILE: several processes do so at once, with a file in a temporary folder.
	//
	// Exit codes: 0 done, 1 failure, 2 usage.
	// 0
	// counter: -n 0: must be 1 or more
	// usage: counter [-n TIMES] [FILE]
	//
	// Adds one to the number in FILE, TIMES times (1), and prints the number.
	// Without FILE: several processes do so at once, with a file in a temporary folder.
	//
	// Exit codes: 0 done, 1 failure, 2 usage.
	// 2
}
