// Command contend lets several processes compete, round after round, for a lock whose owner was
// killed: the moment in which lock files go wrong. In every round a child acquires the lock and is
// killed, then all contenders are let go at once. Each takes the lock in turn, adds one to a
// counter in the state file, and gives the lock back. Exactly one of them may take the dead owner's
// lock over, no two may be inside at once, and no addition may be lost.
//
// The same is done with other locks for comparison. The exit code speaks for Probate alone.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == childArg {
		child(os.Args[2], os.Args[3])
		return
	}
	os.Exit(run())
}

func run() int {
	rounds := flag.Int("rounds", 200, "how many dead owners")
	contenders := flag.Int("contenders", 8, "how many processes compete")
	only := flag.String("only", strings.Join(lockNames(), ","), "which locks, with commas between")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *contenders < 1 {
		fmt.Fprintln(os.Stderr, "usage: contend [-rounds N] [-contenders N] [-only NAME,…]")
		return 2
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "lock\trounds\ttenures\trounds with several owners\tlost updates\t"+
		"not one takeover\tfence not one up\trefused releases\ttime")
	code := 0
	for name := range strings.SplitSeq(*only, ",") {
		r, err := contend(name, *rounds, *contenders)
		if err != nil {
			fmt.Fprintf(os.Stderr, "contend: %s: %v\n", name, err)
			return 1
		}
		takeovers, fences := "-", "-" // the others do not tell
		if name == nameProbate {
			takeovers, fences = fmt.Sprint(r.notOneTakeover), fmt.Sprint(r.notOneUp)
			if r.overlaps+r.lost+r.notOneTakeover+r.notOneUp+r.refused > 0 {
				code = 1
			}
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%v\n", name, r.rounds, r.tenures,
			r.overlaps, r.lost, takeovers, fences, r.refused, r.took.Round(100*time.Millisecond))
	}
	table.Flush()
	return code
}
