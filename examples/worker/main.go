// Command worker takes jobs from a queue and does them. A worker may be killed at any moment:
// another one takes its job over, at once and only when the killed one is provably gone, and every
// job is done once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

const usage = `usage: worker add DIR TEXT…            put jobs into the queue in the folder DIR
       worker run [-takes TIME] DIR    do jobs until there is none that can be taken
       worker list DIR                 print every job that was ever taken, and how far it is
       worker                          show what happens to the job of a worker that is killed

-takes is how long a job takes (0s). Any number of workers may run at once.

Exit codes: 0 done, 1 failure, 2 usage, 3 run: a job was left to a worker that lives, or of which
nothing can be proven.
`

var (
	errUsage = errors.New("wrong usage")
	errLeft  = errors.New("jobs were left to others")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := do(ctx, args, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "worker: %v\n%s", err, usage)
		return 2
	}
	fmt.Fprintln(stderr, "worker:", err)
	if errors.Is(err, errLeft) {
		return 3
	}
	return 1
}

func do(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return demonstrate(ctx, stdout, stderr)
	}
	verb, given := args[0], args
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said by run
	var takes time.Duration
	switch verb {
	case "run":
		flags.DurationVar(&takes, "takes", 0, "")
		args = args[1:]
	case "add", "list":
		args = args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	args = flags.Args()
	switch {
	case takes < 0:
		return fmt.Errorf("%w: -takes %v", errUsage, takes)
	case verb == "add" && len(args) >= 2:
	case (verb == "run" || verb == "list") && len(args) == 1:
	default:
		return fmt.Errorf("%w: %q", errUsage, given)
	}

	q, err := openQueue(args[0])
	if err != nil {
		return err
	}
	switch verb {
	case "add":
		return q.add(ctx, args[1:], stdout)
	case "run":
		return q.run(ctx, takes, stdout)
	default:
		return q.list(stdout)
	}
}
