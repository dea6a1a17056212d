//go:build linux

// Command soak keeps processes committing to one state, some of them in pid namespaces of their own
// and some with file operations that fail, on a small disk that gets full, while it kills and stops
// them. It counts what must never happen: an acknowledged commit that is lost, two holders at once,
// a stopped holder that is taken over, a standstill, a file that is left over; and has the whole
// history checked for linearizability.
//
//	cd scripts/soak && go run . [-for 2m] [-dir DIR] [-seed N] …
//
// It is longer and rougher than a test: `go test ./...` has the same invariants in short. Without
// root there are no namespaces and no small disk.
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

// settings say how rough it gets.
type settings struct {
	length, still time.Duration
	dir           string
	seed          uint64
	workers       int
	faults        int // one in so many file operations of every second worker fails; 0: none
	private       bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == workerArg {
		work(os.Args[2:])
		return
	}
	var c settings
	flag.DurationVar(&c.length, "for", 2*time.Minute, "how long")
	flag.StringVar(&c.dir, "dir", "", "a folder on the filesystem to try (default: a temporary "+
		"one, and as root a small disk in it that gets full)")
	flag.Uint64Var(&c.seed, "seed", rand.Uint64(), "of the random times, choices and faults")
	flag.DurationVar(&c.still, "standstill", 30*time.Second, "the longest pause between two commits")
	flag.IntVar(&c.workers, "workers", 6, "how many processes")
	flag.IntVar(&c.faults, "faults", 400, "one in so many file operations of every second process "+
		"fails, 0 for none")
	flag.BoolVar(&c.private, "private", os.Geteuid() == 0, "pid namespaces and, without -dir, a "+
		"small disk; needs root")
	flag.Parse()
	if flag.NArg() > 0 || c.workers < 2 || c.faults < 0 {
		fmt.Fprintf(os.Stderr, "soak: -workers must be at least 2, -faults not negative, "+
			"and nothing else follows the flags: %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.private && os.Getenv(insideEnv) == "" {
		os.Exit(goInside(ctx))
	}
	os.Exit(run(ctx, c))
}

// run does it, and tells what came of it.
func run(ctx context.Context, c settings) int {
	home, err := os.MkdirTemp(c.dir, "probate-soak-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		return 1
	}
	s := newSoak(c, home)
	if err := s.prepare(); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		return 1
	}
	fmt.Printf("soak: %v, %d processes, seed %d, faults 1 in %d, in %s", c.length, c.workers,
		c.seed, c.faults, home)
	if c.private {
		fmt.Print(", pid namespaces")
	}
	if s.smallDisk {
		fmt.Print(", a disk that gets full")
	}
	fmt.Println()
	if err := s.run(ctx); err != nil {
		s.violation("%v", err)
	}
	s.finalChecks()
	s.print()
	if len(s.violations) == 0 && ctx.Err() == nil {
		s.unmount()
		_ = os.RemoveAll(home)
		return 0
	}
	for i, v := range s.violations {
		if i == 50 {
			fmt.Printf("… and %d more\n", len(s.violations)-i)
			break
		}
		fmt.Printf("VIOLATION: %s\n", v)
	}
	if ctx.Err() != nil {
		fmt.Println("interrupted")
	}
	fmt.Printf("soak: failed; the same choices again: -seed %d\n", c.seed)
	s.keep()
	return 1
}

// keep copies what was found out of the small disk, which ends with this process.
func (s *soak) keep() {
	if !s.smallDisk {
		fmt.Printf("soak: what was found is in %s\n", s.home)
		return
	}
	kept := filepath.Join(s.home, "found")
	if err := os.CopyFS(kept, os.DirFS(filepath.Dir(s.state))); err != nil {
		fmt.Printf("soak: what was found cannot be kept: %v\n", err)
		return
	}
	fmt.Printf("soak: what was found is in %s\n", kept)
}

func (s *soak) print() {
	fmt.Printf("commits     %d acknowledged, %d refused, %d in the state\n", s.acks, s.refused,
		s.total)
	fmt.Printf("kills       %d, %d of them certainly of a holder\n", s.kills, s.killsHeld)
	fmt.Printf("stops       %d, %d of them certainly of a holder\n", s.stops, s.stopsHeld)
	fmt.Printf("faults      %d, and %d times a full disk\n", s.faulted, s.fills)
	fmt.Printf("takeovers   %d, %d in the log (%d lines unreadable), fence %d\n", s.takeovers,
		s.logged, s.unreadable, s.fence)
	fmt.Printf("lost        %d\n", s.lost)
	fmt.Printf("overlaps    %d\n", s.overlaps)
	fmt.Printf("history     %s\n", s.verdict)
	fmt.Printf("standstill  %v longest\n", s.longest.Round(time.Millisecond))
	left := "nothing"
	if len(s.leftovers) > 0 {
		left = strings.Join(s.leftovers, " ")
	}
	fmt.Printf("left over   %s (and %d markers)\n", left, s.markers)
}
