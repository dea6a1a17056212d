package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// demonstrate kills a worker in the midst of a job, and has two others do the rest side by side.
func demonstrate(ctx context.Context, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "worker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // nobody waits for ever for a worker
	defer cancel()

	q, err := openQueue(dir)
	if err != nil {
		return err
	}
	jobs := []string{"all is well", "nothing is well", "some of it is well", "well", "who knows"}
	if err := q.add(ctx, jobs, io.Discard); err != nil {
		return err
	}
	fmt.Fprintln(stdout, len(jobs), "jobs are added")

	// Its job takes longer than this demonstration: it is killed in the midst of it.
	first, lines, err := start(ctx, stderr, "run", "-takes", "10m", dir)
	if err != nil {
		return err
	}
	if !lines.Scan() {
		return errors.Join(errors.New("the first worker has ended"), first.Wait())
	}
	fmt.Fprintln(stdout, "the first worker:", lines.Text())
	if err := first.Process.Kill(); err != nil { // SIGKILL; on Windows, TerminateProcess
		return err
	}
	first.Wait() // says that it was killed
	fmt.Fprintln(stdout, "the first worker is killed")

	count, err := together(ctx, dir, 2)
	if err != nil {
		return err
	}
	for i := range jobs {
		if id := fmt.Sprint("job-", i+1); count["done "+id] != 1 {
			return fmt.Errorf("%s was done %d times; the workers said %q", id, count["done "+id],
				slices.Sorted(maps.Keys(count)))
		}
	}
	fmt.Fprintln(stdout, "two workers have done all of them, each once")
	reports, err := filepath.Glob(filepath.Join(dir, "reports", "*.txt"))
	if err == nil && len(reports) != len(jobs) {
		err = fmt.Errorf("%d reports on %d jobs", len(reports), len(jobs))
	}
	if err != nil {
		return err
	}
	return q.list(stdout)
}

// together has several workers run at once to their ends, and counts what they say.
func together(ctx context.Context, dir string, workers int) (map[string]int, error) {
	type worker struct {
		cmd    *exec.Cmd
		lines  *bufio.Scanner
		errors strings.Builder
	}
	var running []*worker
	var failed error
	for range workers {
		w := &worker{}
		var err error
		if w.cmd, w.lines, err = start(ctx, &w.errors, "run", dir); err != nil {
			failed = err
			break
		}
		running = append(running, w)
	}
	count := map[string]int{}
	for _, w := range running {
		for w.lines.Scan() { // to the end, before Wait closes the pipe
			count[w.lines.Text()]++
		}
		err := w.cmd.Wait()
		exit, exited := errors.AsType[*exec.ExitError](err)
		if exited && exit.ExitCode() == 3 {
			continue // it has left a job to the other one, which lived
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%w: %s", err, w.errors.String()))
		}
	}
	return count, failed
}

// start starts this program again.
func start(ctx context.Context, stderr io.Writer, args ...string) (
	*exec.Cmd, *bufio.Scanner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, bufio.NewScanner(pipe), cmd.Start()
}
