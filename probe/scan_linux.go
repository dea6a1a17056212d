package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// This file walks over all processes. A walk is complete when it ran in the initial pid namespace,
// in a /proc that hides nothing, and could read what it needed of every process. A process that
// ends meanwhile is no gap.

// gaps collects why a walk is not complete.
type gaps struct {
	first error
	more  int
}

func (g *gaps) add(what string, err error) {
	if g.first == nil {
		g.first = fmt.Errorf("%s: %w", what, err)
		return
	}
	g.more++
}

func (g *gaps) err() error {
	if g.first == nil || g.more == 0 {
		return g.first
	}
	return fmt.Errorf("%w (and %d more)", g.first, g.more)
}

var errInnerNamespace = errors.New("this is not the initial pid namespace: " +
	"processes outside it cannot be seen")

// openWalk opens /proc for a walk and collects what is already known to be missing. unusable says
// that no process can be looked at.
func (s *linuxSystem) openWalk(g *gaps) (proc procFS, unusable error) {
	proc, unusable, incomplete := s.openWholeProcFS()
	if unusable != nil {
		return proc, unusable
	}
	if incomplete != nil {
		g.add("/proc", incomplete)
	}
	s.mu.Lock()
	if !s.spaces.PID.Known {
		s.spaces = namespaces(proc, nil)
	}
	initial := s.spaces.PIDInitial
	s.mu.Unlock()
	switch {
	case !initial.Known && !errors.Is(initial.Err, errors.ErrUnsupported):
		g.add(initial.Source, initial.Err)
	case initial.Known && !initial.Value:
		g.add(initial.Source, errInnerNamespace)
	}
	return proc, nil
}

// numbers lists the entries of a directory in /proc that are numbers.
func (d directory) numbers(name string) ([]int, error) {
	list, err := d.openList(name)
	if err != nil {
		return nil, err
	}
	defer list.close()
	names, err := list.names()
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// Nested implements System. One pass is enough: a process that is there all the time is listed, and
// keeps its numbers for life.
func (s *linuxSystem) Nested(pid int) Nested {
	if pid <= 0 || pid > maxPID {
		return Nested{Incomplete: errors.New("not a valid process number")}
	}
	var g gaps
	proc, err := s.openWalk(&g)
	if err != nil {
		return Nested{Incomplete: err}
	}
	defer proc.close()
	var n Nested
	pids, err := proc.numbers(".")
	if err != nil {
		g.add("/proc", err)
	}
	var buf [4096]byte
	for _, outer := range pids {
		name := strconv.Itoa(outer) + "/status"
		status, err := proc.read(name, buf[:0])
		if vanished(err) {
			continue
		}
		if err != nil {
			g.add("/proc/"+name, err)
			continue
		}
		numbers := statusNumbers(status, "NSpid")
		if len(numbers) == 0 {
			g.add("/proc/"+name, errors.New("no NSpid"))
			continue
		}
		for _, inner := range numbers[1:] {
			if inner != pid {
				continue
			}
			if p := s.Process(outer); p.Presence != Missing {
				n.Found = append(n.Found, p)
			}
			break
		}
	}
	n.Incomplete = g.err()
	return n
}

// Openers implements System.
//
// A descriptor moves to another process by fork, and a process can fork and end before its turn
// comes. To miss none, the walk lists the processes again after it has looked at all of them, and
// looks at the new ones, until none is new: then every living process was looked at after its birth
// and did not have the file. A list is written in the order of the numbers, so that it can miss a
// child with a small number whose parent ends before its own, larger one is reached. That takes a
// full turn of the process numbers and cannot happen twice within a moment: two lists in a row have
// to agree.
//
// That leaves a descriptor that moves between two living processes or within one while they are
// looked at (sent through a socket, fetched with pidfd_getfd, duplicated to a smaller number, taken
// along by a new thread with a table of its own), one that is under way in a socket, and a mapping
// or a kernel service (loop device, io_uring) that holds the file without a descriptor.
func (s *linuxSystem) Openers(handle uintptr) Openers {
	target, err := newTarget(int(handle))
	if err != nil {
		return Openers{Incomplete: fmt.Errorf("the file itself: %w", err)}
	}
	w := fdWalk{target: target, self: os.Getpid()}
	proc, err := s.openWalk(&w.gaps)
	if err != nil {
		return Openers{Incomplete: err}
	}
	defer proc.close()
	w.proc = proc

	known := map[int]bool{}
	quiet := 0
	// Where processes are born faster than they can be looked at the walk gives up, sooner when it
	// knows already that somebody has the file.
	for round := 0; round < 100 && (round < 5 || len(w.found) == 0); round++ {
		pids, err := proc.numbers(".")
		if err != nil {
			return Openers{Found: w.found, Incomplete: fmt.Errorf("/proc: %w", err)}
		}
		quiet++
		listed := make(map[int]bool, len(pids))
		for _, pid := range pids {
			listed[pid] = true
			if !known[pid] {
				quiet = 0
				w.process(pid)
			}
		}
		if quiet == 2 {
			return Openers{Found: w.found, Incomplete: w.gaps.err()}
		}
		known = listed // a number that was not listed may come back as another process
	}
	return Openers{Found: w.found, Incomplete: errors.New("new processes kept appearing")}
}
