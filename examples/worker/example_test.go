//go:build linux || windows || darwin

// On other systems it may be beyond proof that a killed worker is gone. Its job is then left alone,
// for a person to decide.

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// The program starts itself again. In a test, that is the test program, which is the program when
// this variable is set.
const asProgram = "WORKER_IS_THE_PROGRAM"

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
	// 5 jobs are added
	// the first worker: took job-1
	// the first worker is killed
	// two workers have done all of them, each once
	// job-1 done, taken over from a process that was gone
	// job-2 done
	// job-3 done
	// job-4 done
	// job-5 done
	// exit code 0
}
