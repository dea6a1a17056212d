package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/statefile"
)

// Job is something to do: a report on a text.
type Job struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Inbox is the jobs that are not known to be done. Last is the number of the job that was added
// last: no id is used twice.
type Inbox struct {
	Last int   `json:"last"`
	Jobs []Job `json:"jobs"`
}

const (
	taken ops.Phase = "taken"
	done  ops.Phase = "done"
)

// queue is a folder: jobs that wait are in a file, and those that were taken in a store of
// operations, which knows the process that took each.
type queue struct {
	inbox   *statefile.File[Inbox]
	taken   *ops.Folder
	reports string
}

func openQueue(dir string) (*queue, error) {
	store, err := ops.Open(filepath.Join(dir, "operations"), ops.Phases{
		Initial:  taken,
		Next:     map[ops.Phase][]ops.Phase{taken: {done}},
		Terminal: []ops.Phase{done},
	}, ops.Options{})
	if err != nil {
		return nil, err
	}
	inbox := statefile.Open[Inbox](filepath.Join(dir, "inbox.json"), statefile.Options{})
	return &queue{inbox, store, filepath.Join(dir, "reports")}, nil
}

func (q *queue) add(ctx context.Context, texts []string, stdout io.Writer) error {
	for _, dir := range []string{q.taken.Dir(), q.reports} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	now, err := q.inbox.Update(ctx, func(in Inbox) (Inbox, error) {
		for _, text := range texts {
			in.Last++
			in.Jobs = append(in.Jobs, Job{fmt.Sprint("job-", in.Last), text})
		}
		return in, nil
	})
	if err != nil {
		return err
	}
	for _, job := range now.Jobs[len(now.Jobs)-len(texts):] {
		fmt.Fprintln(stdout, "added", job.ID)
	}
	return nil
}

// run does jobs until there is none that can be taken.
func (q *queue) run(ctx context.Context, takes time.Duration, stdout io.Writer) error {
	left := map[string]bool{}
	for {
		job, found, err := q.next(left)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		op, mine, err := q.take(ctx, job)
		if held, ok := errors.AsType[*ops.Error](err); ok && errors.Is(err, ops.ErrHeld) {
			fmt.Fprintf(stdout, "left %s alone: %v\n", job.ID, held.Finding)
			left[job.ID] = true
			continue
		}
		if err != nil {
			return err
		}
		if mine {
			said := "took " + job.ID
			if n := len(op.Claims); n > 0 {
				said = fmt.Sprintf("took over %s, whose process was %v (%s)", job.ID,
					op.Claims[n-1].Verdict, op.Claims[n-1].Reason)
			}
			fmt.Fprintln(stdout, said)
			if err := q.work(ctx, op, takes); err != nil {
				return err
			}
			fmt.Fprintln(stdout, "done", job.ID)
		}
		if err := q.forget(ctx, job); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: %d", errLeft, len(left))
	}
	return nil
}

// next returns the first job in the inbox that is not among those left alone.
func (q *queue) next(left map[string]bool) (job Job, found bool, err error) {
	in, err := q.inbox.Load()
	if err != nil {
		return Job{}, false, err
	}
	for _, job := range in.Jobs {
		if !left[job.ID] {
			return job, true, nil
		}
	}
	return Job{}, false, nil
}

// take makes the job an operation of this process. It returns false when the job is done, and
// ops.ErrHeld when the process that took it is not provably gone.
func (q *queue) take(ctx context.Context, job Job) (op ops.Operation, mine bool, err error) {
	// Of all who begin the operation of that id, ever, one does.
	op, begun, err := q.taken.Begin(ctx, ops.Request{ID: job.ID, Environment: job.ID, Data: job})
	if err != nil || begun || op.Phase == done {
		return op, begun, err
	}
	// Somebody has it. If that process is provably gone, it is ours: again, one gets it.
	op, err = q.taken.Claim(ctx, op.ID, op.Revision, ops.Takeover{})
	switch {
	case errors.Is(err, ops.ErrFinished):
		return op, false, nil
	case errors.Is(err, ops.ErrStale):
		return q.take(ctx, job) // another one was faster: look again
	}
	return op, err == nil, err
}

// work does a job. It may be killed anywhere in here: the one that takes the job over does it from
// the beginning.
func (q *queue) work(ctx context.Context, op ops.Operation, takes time.Duration) error {
	var job Job
	if err := op.Decode(&job); err != nil {
		return err
	}
	// First it is on disk that there may be such a file, then it is made: whoever takes over knows
	// what may have been left behind. This job makes the same file again and need not look.
	report := filepath.Join(q.reports, job.ID+".txt")
	op, err := q.taken.RecordOwned(ctx, op.ID, op.Revision,
		ops.Resource{Kind: "file", Name: report})
	if err != nil {
		return err
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text := fmt.Sprintf("%s: %d words\n", job.Text, len(strings.Fields(job.Text)))
	if err := os.WriteFile(report, []byte(text), 0o600); err != nil {
		return err
	}
	// Whoever lost the job meanwhile, by a person's word, is refused: it is done once.
	_, err = q.taken.CompareAndSwap(ctx, op.ID, op.Revision, ops.Change{Phase: done})
	return err
}

// forget takes a job that is done out of the inbox. Where this is missed, the next worker does it.
func (q *queue) forget(ctx context.Context, job Job) error {
	_, err := q.inbox.Update(ctx, func(in Inbox) (Inbox, error) {
		in.Jobs = slices.DeleteFunc(in.Jobs, func(j Job) bool { return j.ID == job.ID })
		return in, nil
	})
	return err
}

// list prints every job that was ever taken. It waits for nobody.
func (q *queue) list(stdout io.Writer) error {
	var lines []string
	for op, err := range q.taken.All() {
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", op.ID, op.Phase)
		for _, c := range op.Claims {
			line += fmt.Sprintf(", taken over from a process that was %v", c.Verdict)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int { return number(a) - number(b) })
	for _, line := range lines {
		fmt.Fprintln(stdout, line)
	}
	return nil
}

// number is that of the job, so that job-10 comes after job-9.
func number(line string) (n int) {
	fmt.Sscanf(line, "job-%d", &n)
	return n
}
