//lint:file-ignore ST1005 the messages begin with the names of methods

package opstest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/probate-dev/probate/identity"
	"github.com/probate-dev/probate/internal/conform"
	"github.com/probate-dev/probate/store/ops"
)

const many = 8

// together runs fn many times at once, and returns what went wrong first.
func together(fn func(n int) error) error {
	start := make(chan bool)
	var running []<-chan error
	for n := range many {
		running = append(running, conform.Spawn(func() error {
			<-start
			return fn(n)
		}))
	}
	close(start)
	return conform.All(running)
}

func beginRace(s *store) error {
	var mu sync.Mutex
	winner := ""
	err := together(func(n int) error {
		id := fmt.Sprint(n)
		_, begun, err := s.Begin(ctx, ops.Request{ID: id, Environment: "e"})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case begun && winner != "":
			return fmt.Errorf("%s and %s have both begun", winner, id)
		case begun:
			winner = id
			return err
		}
		return refused("Begin beside others", err, ops.ErrBusy, 1)
	})
	if err != nil {
		return err
	}
	return s.lists([]string{winner}, nil, []string{winner})
}

func beginSameRace(s *store) error {
	var mu sync.Mutex
	winners := 0
	err := together(func(int) error {
		op, begun, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e", Data: 1})
		mu.Lock()
		defer mu.Unlock()
		if begun {
			winners++
		}
		if err == nil && op.ID != "r" {
			err = fmt.Errorf("Begin returns %+v", op)
		}
		return err
	})
	if err == nil && winners != 1 {
		err = fmt.Errorf("%d have begun the same operation", winners)
	}
	return err
}

func swapRace(s *store) error {
	op, _, err := s.Begin(ctx, ops.Request{ID: "r", Environment: "e", Data: 0})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	winners := 0
	err = together(func(n int) error {
		_, err := s.CompareAndSwap(ctx, "r", op.Revision, ops.Change{Data: 0})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			winners++
			return nil
		}
		return refused("CompareAndSwap beside others", err, ops.ErrStale, 0)
	})
	if err == nil && winners != 1 {
		err = fmt.Errorf("%d have swapped from one revision", winners)
	}
	if err != nil {
		return err
	}
	const rounds = 3
	revisions := map[ops.Revision]bool{}
	err = together(func(int) error {
		for done := 0; done < rounds; {
			now, err := s.Get("r")
			if err != nil {
				return err
			}
			count := 0
			if err := now.Decode(&count); err != nil {
				return err
			}
			now, err = s.CompareAndSwap(ctx, "r", now.Revision, ops.Change{Data: count + 1})
			if errors.Is(err, ops.ErrStale) {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			twice := revisions[now.Revision]
			revisions[now.Revision] = true
			mu.Unlock()
			if twice {
				return fmt.Errorf("revision %d was given twice", now.Revision)
			}
			done++
		}
		return nil
	})
	if err != nil {
		return err
	}
	count := 0
	if op, err = s.Get("r"); err == nil {
		err = op.Decode(&count)
	}
	if err == nil && count != many*rounds {
		err = fmt.Errorf("%d updates of %d are left", count, many*rounds)
	}
	return err
}

func receiptsRace(s *store) error {
	if _, err := s.begun("r", "e"); err != nil {
		return err
	}
	var mu sync.Mutex
	fresh := 0
	err := together(func(n int) error {
		_, duplicate, err := s.Accept(ctx, ops.Receipt{Nonce: "n", Operation: "r",
			LogTail: fmt.Sprint(n)})
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !duplicate {
			fresh++
		}
		return err
	})
	op, gone := s.Get("r")
	if err = errors.Join(err, gone); err == nil && (fresh != 1 || len(op.Receipts) != 1) {
		err = fmt.Errorf("one receipt was taken %d times, and is there %d times", fresh,
			len(op.Receipts))
	}
	return err
}

func recoverable(s *store) error {
	if _, err := s.done("done", "e"); err != nil {
		return err
	}
	op, err := s.begun("r", "e")
	if err != nil {
		return err
	}
	n := 0
	for r, err := range s.Recoverable() {
		if err != nil {
			return err
		}
		if n++; r.Finding.Verdict == identity.Gone || r.Finding.Verdict == identity.Free {
			return fmt.Errorf("the operation of this very process is %v", r.Finding)
		}
		if err := equal("Recoverable", r.Operation, op); err != nil {
			return err
		}
	}
	if n != 1 {
		return fmt.Errorf("Recoverable yields %d operations, want 1", n)
	}
	for range s.Recoverable() { // may be left early
		break
	}
	me, err := identity.Current()
	if err != nil || me.Boot == "" {
		return nil // nobody can say here whether a process is this one
	}
	got, err := s.Claim(ctx, "r", op.Revision, ops.Takeover{})
	if err != nil {
		return fmt.Errorf("Claim of what is ours: %w", err)
	}
	_, stale := s.Claim(ctx, "r", op.Revision+1, ops.Takeover{})
	return errors.Join(equal("Claim of what is ours", got, op),
		refused("Claim from another revision", stale, ops.ErrStale, op.Revision))
}

func archive(s *store) error {
	var done []string
	for n := range 5 {
		id := fmt.Sprint(n)
		if _, err := s.done(id, fmt.Sprint("e", n%2)); err != nil {
			return err
		}
		done = append(done, id)
	}
	if err := s.lists(done, nil, nil); err != nil {
		return err
	}
	n, err := s.ArchiveFinished(ctx, "e0")
	if err != nil || n != 3 {
		return fmt.Errorf("ArchiveFinished of one environment: %d, %v", n, err)
	}
	if err := s.lists([]string{"1", "3"}, []string{"0", "2", "4"}, nil); err != nil {
		return err
	}
	if n, err = s.ArchiveFinished(ctx); err != nil || n != 2 {
		return fmt.Errorf("ArchiveFinished of the others: %d, %v", n, err)
	}
	if n, err = s.ArchiveFinished(ctx); err != nil || n != 0 {
		return fmt.Errorf("ArchiveFinished of nothing: %d, %v", n, err)
	}
	for _, id := range done {
		op, err := s.Get(id)
		if err != nil || !op.Archived || op.Phase != "applied" {
			return fmt.Errorf("Get of an archived operation: %+v, %w", op, err)
		}
	}
	if _, err := s.begun("new", "e0"); err != nil {
		return err
	}
	return s.lists([]string{"new"}, done, []string{"new"})
}

func archiveRefused(s *store) error {
	for _, id := range []string{"1", "2"} {
		if _, err := s.done(id, "e"); err != nil {
			return err
		}
	}
	op, err := s.begun("3", "e")
	if err != nil {
		return err
	}
	if _, err := s.done("4", "other"); err != nil {
		return err
	}
	for _, environments := range [][]string{nil, {"e"}, {"other", "e"}} {
		n, err := s.ArchiveFinished(ctx, environments...)
		if n != 0 {
			return fmt.Errorf("ArchiveFinished(%q) beside an unfinished one put %d away",
				environments, n)
		}
		if err := refused("ArchiveFinished", err, ops.ErrBusy, op.Revision); err != nil {
			return err
		}
		if err := s.lists([]string{"1", "2", "3", "4"}, nil, []string{"3"}); err != nil {
			return err
		}
	}
	if n, err := s.ArchiveFinished(ctx, "other"); err != nil || n != 1 {
		return fmt.Errorf("ArchiveFinished of the other environment: %d, %v", n, err)
	}
	return s.lists([]string{"1", "2", "3"}, []string{"4"}, []string{"3"})
}

// archiveListing: who lists while operations finish, follow each other and are put away finds
// nothing wrong, and misses nothing that stays.
func archiveListing(s *store) error {
	if _, err := s.begun("stays", "stays"); err != nil {
		return err
	}
	const rounds = 7 // the last leaves two that are finished and not archived
	over := make(chan bool)
	looked := conform.Spawn(func() error {
		for last := false; ; {
			select {
			case <-over:
				last = true
			default:
			}
			ids, err := collect(s.All(), idOf)
			if err != nil {
				return fmt.Errorf("a listing beside an archiving: %w", err)
			}
			for id, n := range ids {
				if n != 1 {
					return fmt.Errorf("a listing beside an archiving has %s %d times", id, n)
				}
			}
			old, err := collect(s.Archived(), idOf)
			if err != nil {
				return err
			}
			left, err := collect(s.Recoverable(), idOfRecovery)
			if err != nil {
				return err
			}
			if ids["stays"] != 1 || left["stays"] != 1 || old["stays"] != 0 {
				return errors.New("a listing beside an archiving misses what stays")
			}
			if last {
				return nil
			}
		}
	})
	worked := func() error {
		for n := range rounds {
			for _, env := range []string{"a", "b"} {
				if _, err := s.done(fmt.Sprint(env, n), env); err != nil {
					return err
				}
			}
			if n%2 == 1 {
				if _, err := s.ArchiveFinished(ctx, "a", "b"); err != nil {
					return err
				}
			}
		}
		return nil
	}()
	close(over)
	return errors.Join(worked, <-looked)
}
