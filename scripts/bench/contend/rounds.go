package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/probate-dev/probate/fence"
	"github.com/probate-dev/probate/lockfile"
)

// result is what all rounds of one lock came to.
type result struct {
	rounds, tenures, overlaps, lost   int
	notOneTakeover, notOneUp, refused int
	took                              time.Duration
}

// contend runs the rounds of one lock.
func contend(name string, rounds, contenders int) (r result, err error) {
	if locks[name] == nil {
		return r, fmt.Errorf("there are %q", lockNames())
	}
	dir, err := os.MkdirTemp("", "probate-contend-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	state := filepath.Join(dir, "state")
	startChild, start, err := os.Pipe()
	if err != nil {
		return r, err
	}
	defer startChild.Close()
	defer start.Close()
	var all []*process
	defer func() {
		for _, p := range all {
			p.kill()
		}
	}()
	for range contenders {
		p, err := startProcess(name, state, startChild)
		if err != nil {
			return r, err
		}
		all = append(all, p)
	}
	began := time.Now()
	for ; r.rounds < rounds; r.rounds++ {
		if err := r.round(name, state, all, startChild, start); err != nil {
			return r, fmt.Errorf("round %d: %w", r.rounds, err)
		}
	}
	r.took = time.Since(began)
	return r, nil
}

func (r *result) round(name, state string, all []*process, startChild, start *os.File) error {
	victim, err := startProcess(name, state, startChild)
	if err != nil {
		return err
	}
	answer, err := victim.ask("hold")
	victim.kill()
	if err != nil || answer != "held" {
		return fmt.Errorf("the owner that was to be killed said %q, %w", answer, err)
	}
	before, err := readCounter(state)
	if err != nil {
		return err
	}
	fenceBefore, err := fenceOf(name, state)
	if err != nil {
		return err
	}
	for _, p := range all {
		if answer, err := p.ask("contend"); err != nil || answer != "ready" {
			return fmt.Errorf("a contender said %q, %w", answer, err)
		}
	}
	if _, err := start.Write(make([]byte, len(all))); err != nil { // one byte for each, at once
		return err
	}
	takeovers, overlap := 0, false
	for _, p := range all {
		line, err := p.line()
		if err != nil {
			return err
		}
		t, err := parseTally(line)
		if err != nil {
			return fmt.Errorf("a contender said %q", line)
		}
		r.tenures++
		if t.tookOver {
			takeovers++
		}
		if t.refused {
			r.refused++
		}
		overlap = overlap || t.overlap
	}
	after, err := readCounter(state)
	if err != nil {
		return err
	}
	fenceAfter, err := fenceOf(name, state)
	if err != nil {
		return err
	}
	r.lost += before + len(all) - after
	if overlap {
		r.overlaps++
	}
	if takeovers != 1 {
		r.notOneTakeover++
	}
	if fenceAfter != fenceBefore+1 {
		r.notOneUp++
	}
	return nil
}

func fenceOf(name, state string) (fence.Token, error) {
	if name != nameProbate {
		return 0, nil
	}
	in, err := lockfile.Inspect(state, lockfile.Options{})
	if err == nil && in.Fence.Err != "" {
		err = errors.New(in.Fence.Err)
	}
	return in.Fence.Counter, err
}

// process is a child that is spoken to in lines.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
}

func startProcess(name, state string, start *os.File) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, childArg, name, state)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{start}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, stdin, make(chan string, 8)}
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p, nil
}

func (p *process) line() (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", errors.New("a process ended")
		}
		return line, nil
	case <-time.After(2 * patience):
		return "", fmt.Errorf("process %d said nothing for %v", p.cmd.Process.Pid, 2*patience)
	}
}

func (p *process) ask(line string) (string, error) {
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		return "", err
	}
	return p.line()
}

// kill kills the process and reaps it: nothing is left of it but its lock.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines { // Wait closes the pipe under a reader
	}
	_ = p.cmd.Wait()
}
