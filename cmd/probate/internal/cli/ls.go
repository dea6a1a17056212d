package cli

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/lockfile"
	"github.com/spf13/cobra"
)

func (a *app) lsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls [--json] [DIR]",
		Short: "Every lock below a directory with its verdict",
		Long: `ls walks the directory tree below DIR (default: the current one), and shows every
lock with its verdict, sorted by name, folder by folder. It changes nothing. It
exits with 0 when everything could be looked at, whatever the verdicts, else
with 1. Files that only happen to be called ….lock are left out: no program of
this kind wrote them, and no STATE.fence stands beside them.

With --json every lock is one object as inspect prints it. What is found is
printed as it is found: the columns are lined up by the first 1000 locks, or by
those of the first second. How far it is stands on standard error, where that
is a terminal.`,
		Example: `  probate ls /var/lib/app
  probate ls --json | jq -r 'select(.verdict == "unknown") | .state'`,
		Args: operands("[DIR]"),
	}
	cmd.RunE = a.verb(func(ctx context.Context, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if dir == "" {
			return &usageError{what: "DIR is empty", verb: "ls"}
		}
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		return a.list(ctx, dir, ticker.C)
	})
	return cmd
}

// found is one answer of a listing.
type found struct {
	in  lockfile.Inspection
	err error
}

// list prints what is found as it is found. At every tick it says how far it is, on a terminal.
func (a *app) list(ctx context.Context, dir string, tick <-chan time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What is found comes from a goroutine, so that a disk that does not answer holds up neither
	// the end nor the progress. Signals end the program as they do any other.
	answers := make(chan found, 256)
	go func() {
		defer close(answers)
		for in, err := range lockfile.List(dir, a.options()) {
			select {
			case answers <- found{in, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	l := newLister(a, dir)
	for {
		select {
		case f, more := <-answers:
			if !more {
				return l.end()
			}
			l.add(f)
			if len(answers) == 0 || a.out.err != nil {
				l.out.Flush()
			}
			if a.out.err != nil { // nobody reads it any more
				return exitWith(exitFailure)
			}
		case <-tick:
			l.tell()
		case <-ctx.Done():
			l.end()
			return context.Cause(ctx)
		}
	}
}

// firstRows is how many locks the width of the columns goes by, or those that were there after
// firstTicks; and nextRows how many are printed together after that.
const (
	firstRows  = 1000
	firstTicks = 5
	nextRows   = 100
)

// lister prints a listing.
type lister struct {
	a       *app
	dir     string // as it was named
	shorten func(path string) string
	out     *bufio.Writer
	code    int

	columns  columns
	begun    bool // the head of the table is printed
	rows     [][]string
	verdicts []identity.Verdict
	painted  bool
	ticks    int

	seen     map[identity.Verdict]int
	progress *progress // nil: nobody would see it
}

func newLister(a *app, dir string) *lister {
	l := &lister{a: a, dir: dir, shorten: relativeTo(dir),
		out: bufio.NewWriterSize(a.out, 32<<10), painted: coloured(a.out),
		seen: map[identity.Verdict]int{}}
	if !a.json && isTerminal(a.err) {
		l.progress = &progress{w: a.err}
	}
	return l
}

func (l *lister) add(f found) {
	a := l.a
	switch {
	case f.err != nil && a.json:
		l.code = exitFailure
		failed := explain(f.err)
		failed.State = f.in.State
		writeJSON(l.out, failed)
	case f.err != nil:
		l.code = exitFailure
		l.flush()
		a.complain(f.err, explain(f.err))
	case a.json:
		writeJSON(l.out, f.in)
	default:
		l.seen[f.in.Verdict]++
		since := ""
		if f.in.Owner != nil && !f.in.Owner.Since.IsZero() {
			since = f.in.Owner.Since.Local().Format(time.DateTime)
		}
		l.rows = append(l.rows, []string{l.shorten(f.in.State), f.in.Verdict.String(),
			string(f.in.Reason), brief(f.in.Owner), since})
		l.verdicts = append(l.verdicts, f.in.Verdict)
		if len(l.rows) >= firstRows || l.begun && len(l.rows) >= nextRows {
			l.print()
		}
	}
}

// print prints the rows that there are.
func (l *lister) print() {
	if len(l.rows) == 0 {
		return
	}
	head := 0
	if !l.begun {
		l.begun, head = true, 1
		l.rows = append([][]string{{"STATE", "VERDICT", "REASON", "OWNER", "SINCE"}}, l.rows...)
	}
	l.progress.clear()
	l.columns.print(l.out, l.rows, func(row, col int, cell string) string {
		if row < head || col != 1 || !l.painted {
			return cell
		}
		return inColour(l.verdicts[row-head], cell)
	})
	l.rows, l.verdicts = l.rows[:0], l.verdicts[:0]
}

// flush makes room on the terminal for somebody else, with what was found before in its place.
func (l *lister) flush() {
	if l.begun {
		l.print()
	}
	l.out.Flush()
	l.progress.clear()
}

// tell says how far the listing is.
func (l *lister) tell() {
	if l.ticks++; l.begun || l.ticks >= firstTicks {
		l.print()
	}
	l.out.Flush()
	l.progress.show(l.seen)
}

func (l *lister) end() error {
	l.print()
	l.out.Flush()
	l.progress.clear()
	if l.code == exitOK && !l.begun && !l.a.json {
		l.a.say("no locks below %s", quote(l.dir))
	}
	return exitWith(l.code)
}

// relativeTo returns what shows paths below dir in the terms in which dir was named.
func relativeTo(dir string) func(path string) string {
	root, err := realDir(dir)
	before := ""
	if dir != "." {
		separator := string(os.PathSeparator)
		before = strings.TrimRight(dir, separator) + separator
	}
	return func(path string) string {
		rest, notBelow := filepath.Rel(root, path)
		if err != nil || notBelow != nil || !filepath.IsLocal(rest) {
			return path
		}
		return before + rest
	}
}
