// Command counter keeps a number in a file that any number of processes add to at once. None of
// their additions is lost, whichever of them is killed, and nobody waits for a timeout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

const usage = `usage: counter [-n TIMES] [FILE]

Adds one to the number in FILE, TIMES times (1), and prints the number.
Without FILE: several processes do so at once, with a file in a temporary folder.

Exit codes: 0 done, 1 failure, 2 usage.
`

// Counter is what the file holds, as JSON.
type Counter struct {
	N int `json:"n"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("counter", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said below
	times := flags.Int("n", 1, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err == nil && flags.NArg() > 1:
		err = fmt.Errorf("one file, not %d", flags.NArg())
	case err == nil && *times < 1:
		err = fmt.Errorf("-n %d: must be 1 or more", *times)
	case err == nil && flags.NArg() == 0 && flags.NFlag() > 0:
		err = errors.New("-n is for a FILE")
	}
	if err != nil {
		fmt.Fprintf(stderr, "counter: %v\n%s", err, usage)
		return 2
	}

	if flags.NArg() == 0 {
		err = demonstrate(ctx, stdout, stderr)
	} else {
		err = add(ctx, flags.Arg(0), *times, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "counter:", err)
		return 1
	}
	return 0
}

// add adds one to the number in the file, so many times.
func add(ctx context.Context, path string, times int, stdout io.Writer) error {
	file := statefile.Open[Counter](path, statefile.Options{
		Lock: lockfile.Options{Label: "counter"}, // for people who look who has the file
	})
	var now Counter
	for range times {
		var err error
		// Update gives us the newest number while nobody else can write, and returns when ours is
		// on disk. The first one finds no file, and gets the zero Counter.
		now, err = file.Update(ctx, func(c Counter) (Counter, error) {
			c.N++
			return c, nil
		})
		if err != nil {
			return err // who has the file, why it cannot be taken over, and what can be done
		}
	}
	_, err := fmt.Fprintln(stdout, now.N)
	return err
}

// demonstrate has several processes add to one counter at the same time.
func demonstrate(ctx context.Context, stdout, stderr io.Writer) error {
	const processes, times = 4, "25"
	dir, err := os.MkdirTemp("", "counter-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "counter.json")

	self, err := os.Executable()
	if err != nil {
		return err
	}
	var adders []*exec.Cmd
	for range processes {
		adder := exec.CommandContext(ctx, self, "-n", times, path)
		adder.Stderr = stderr
		if err = adder.Start(); err != nil {
			break
		}
		adders = append(adders, adder)
	}
	for _, adder := range adders {
		err = errors.Join(err, adder.Wait())
	}
	if err != nil {
		return err
	}

	// Reading takes no lock, and waits for nobody.
	now, err := statefile.Open[Counter](path, statefile.Options{}).Load()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d processes added %s each: the counter is %d\n",
		processes, times, now.N)
	return err
}
