// Command settings keeps settings in a JSON file that people and programs edit. Programs that run
// see every change at once; a mistake in the file is told with its line, and nothing is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/store/statefile"
)

const usage = `usage: settings show FILE             print the settings
       settings set FILE NAME VALUE   change one: theme, fontSize
       settings watch FILE            print them now and after every change, until interrupted
       settings restore FILE          put the previous version in the place of a damaged file
       settings                       show all that with a file in a temporary folder

Exit codes: 0 done, 1 failure, 2 usage, 3 the file has a mistake in it; it is left as it is.
`

// Settings is what the file holds, as JSON.
type Settings struct {
	Theme    string `json:"theme"`
	FontSize int    `json:"fontSize"`
}

func (s Settings) String() string {
	return fmt.Sprintf("theme=%s fontSize=%d", s.Theme, s.FontSize)
}

// errUsage is for what is wrong with the arguments.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("settings", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said below
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errUsage, err)
	} else {
		err = do(ctx, flags.Args(), stdout, stderr)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "settings: %v\n%s", err, usage)
		return 2
	}
	fmt.Fprintln(stderr, "settings:", err)
	if errors.Is(err, statefile.ErrCorrupt) {
		return 3
	}
	return 1
}

func do(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return demonstrate(ctx, stdout, stderr)
	}
	verb, args := args[0], args[1:]
	switch {
	case verb == "set" && len(args) == 3:
		return set(ctx, open(args[0]), args[1], args[2], stdout)
	case verb == "show" && len(args) == 1:
		now, err := open(args[0]).Load()
		return show(now, err, stdout)
	case verb == "restore" && len(args) == 1:
		now, err := open(args[0]).Restore(ctx)
		return show(now, err, stdout)
	case verb == "watch" && len(args) == 1:
		return watch(ctx, open(args[0]), stdout)
	}
	return fmt.Errorf("%w: %q", errUsage, append([]string{verb}, args...))
}

// open returns the settings in a file. Indented, people can read them; strict, a name with a
// spelling mistake is reported and not dropped by the next update.
func open(path string) *statefile.File[Settings] {
	codec := statefile.JSON[Settings]{Indent: "  ", Strict: true}
	return statefile.OpenWith(path, codec, statefile.Options{
		Lock: lockfile.Options{Label: "settings"}, // for people who look who has the file
		Mode: 0o644,
	})
}

func show(now Settings, err error, stdout io.Writer) error {
	if err == nil {
		_, err = fmt.Fprintln(stdout, now)
	}
	return err
}

func set(ctx context.Context, file *statefile.File[Settings], name, value string,
	stdout io.Writer) error {
	// The function changes what is newest, whoever has written that. Its error changes nothing.
	now, err := file.Update(ctx, func(s Settings) (Settings, error) {
		var err error
		switch name {
		case "theme":
			s.Theme = value
		case "fontSize":
			if s.FontSize, err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("%w: fontSize is a whole number, not %q", errUsage, value)
			}
		default:
			err = fmt.Errorf("%w: there is no setting %q", errUsage, name)
		}
		return s, err
	})
	return show(now, err, stdout)
}

// watch prints the settings now and after every change. A program that runs goes on with those that
// it has when it is told of a mistake.
func watch(ctx context.Context, file *statefile.File[Settings], stdout io.Writer) error {
	for now, err := range file.Watch(ctx) {
		var said any = now
		switch {
		case errors.Is(err, statefile.ErrCorrupt):
			said = cause(err)
		case errors.Is(err, os.ErrNotExist):
			said = "no settings yet"
		case err != nil:
			return err
		}
		if _, err := fmt.Fprintln(stdout, said); err != nil {
			return err
		}
	}
	return nil
}

// cause leaves out what the reader of one file's changes knows: which file, and what was done.
func cause(err error) error {
	if e, ok := errors.AsType[*statefile.Error](err); ok {
		return e.Err
	}
	return err
}
