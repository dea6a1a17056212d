package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/gofrs/flock"
	nightlyone "github.com/nightlyone/lockfile"

	"github.com/probate-dev/probate/lockfile"
)

const nameProbate = "probate"

// patience is how long anybody waits for a lock, or for a process, before the run fails.
const patience = time.Minute

// held is a lock that this process has, or believes that it has.
type held struct {
	tookOver bool
	write    func(state string, content []byte) error
	release  func() error
}

// locks acquires the lock of a state file, waiting for its turn.
var locks = map[string]func(state string) (held, error){
	nameProbate: func(state string) (held, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		lock, err := lockfile.Acquire(ctx, state, lockfile.Options{})
		if err != nil {
			return held{}, err
		}
		write := func(state string, content []byte) error {
			return lock.WriteFile(state, content, 0o600)
		}
		return held{lock.Recovered() != nil, write, lock.Release}, nil
	},
	"nightlyone": func(state string) (held, error) {
		lock, err := nightlyone.New(state + ".pid")
		if err != nil {
			return held{}, err
		}
		err = insist(func() (bool, error) {
			// Besides "busy" it answers with what it met of other contenders half-way: no file, an
			// empty one. All of that passes.
			return lock.TryLock() == nil, nil
		})
		return held{false, replace, lock.Unlock}, err
	},
	// A bare kernel lock: there is no record, and so nothing to take over.
	"flock": func(state string) (held, error) {
		lock := flock.New(state + ".flock")
		return held{false, replace, lock.Unlock}, insist(lock.TryLock)
	},
}

func lockNames() []string {
	names := slices.Sorted(maps.Keys(locks))
	slices.Reverse(names) // ours first
	return names
}

// insist tries until it succeeds.
func insist(try func() (bool, error)) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		got, err := try()
		if got || err != nil {
			return err
		}
		time.Sleep(rand.N(500 * time.Microsecond))
	}
	return fmt.Errorf("no turn in %v", patience)
}

// replace is what those write with who have no commit of their own.
func replace(state string, content []byte) error {
	temp := fmt.Sprintf("%s.%d", state, os.Getpid())
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, state)
}
