//go:build linux

// Command soak keeps six processes committing to one state while it kills and stops them, and
// counts what must never happen: an acknowledged commit that is lost, two holders at once, a
// stopped holder that is taken over, a standstill, a file that is left over.
//
//	go run ./scripts/soak [-for 2m] [-dir DIR] [-seed N]
//
// It is longer and rougher than a test: `go test ./...` has the same invariants in short.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const workers = 6

func main() {
	if len(os.Args) > 1 && os.Args[1] == workerArg {
		work(os.Args[2:])
		return
	}
	os.Exit(run())
}

func run() int {
	length := flag.Duration("for", 2*time.Minute, "how long")
	dir := flag.String("dir", "", "a folder on the filesystem to try (default: a temporary one)")
	seed := flag.Uint64("seed", rand.Uint64(), "of the random times and choices")
	still := flag.Duration("standstill", 3*time.Second, "the longest pause between two commits")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "soak: what is %q? The flags are -for, -dir, -seed, -standstill\n",
			flag.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	home, err := os.MkdirTemp(*dir, "probate-soak-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		return 1
	}
	s := &soak{
		rand:  rand.New(rand.NewPCG(*seed, 0)),
		state: filepath.Join(home, "data", "state"), critical: filepath.Join(home, "critical"),
		byPID: map[int]*worker{}, killed: map[int]int64{},
	}
	fmt.Printf("soak: %v, %d processes, seed %d, in %s\n", *length, workers, *seed, home)
	ended, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	if err := s.run(ended); err != nil {
		s.violation("%v", err)
	}
	s.finalChecks(*still)
	s.print()
	if len(s.violations) == 0 && ctx.Err() == nil {
		_ = os.RemoveAll(home)
		return 0
	}
	for _, v := range s.violations {
		fmt.Printf("VIOLATION: %s\n", v)
	}
	if ctx.Err() != nil {
		fmt.Println("interrupted")
	}
	fmt.Printf("soak: failed; what was found is in %s\n", home)
	return 1
}

func (s *soak) print() {
	fmt.Printf("commits     %d acknowledged, %d in the state\n", s.acks, s.total)
	fmt.Printf("kills       %d, %d of them certainly of a holder\n", s.kills, s.killsHeld)
	fmt.Printf("stops       %d, %d of them certainly of a holder\n", s.stops, s.stopsHeld)
	fmt.Printf("takeovers   %d, %d in the log (%d lines unreadable), fence %d\n", s.takeovers,
		s.logged, s.unreadable, s.fence)
	fmt.Printf("lost        %d\n", s.lost)
	fmt.Printf("overlaps    %d\n", s.overlaps)
	fmt.Printf("standstill  %v longest\n", s.longest.Round(time.Millisecond))
	left := "nothing"
	if len(s.leftovers) > 0 {
		left = strings.Join(s.leftovers, " ")
	}
	fmt.Printf("left over   %s (and %d markers)\n", left, s.markers)
}
