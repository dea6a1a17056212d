// Package conform runs the checks of conformance suites (fence/fencetest, store/docs/docstest, …)
// and what they do at the same time, so that nothing that a store does ends the other checks.
package conform

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Run runs one check in a goroutine of its own, so that neither a panic nor a store that waits for
// ever ends the others. One that takes longer than patience hangs, and its goroutine stays behind.
func Run(patience time.Duration, check func() error) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-Spawn(check):
		return err
	case <-timer.C:
		return fmt.Errorf("hangs: no answer in %v", patience)
	}
}

// Spawn runs fn beside the caller. A panic is an error as well, and so is runtime.Goexit.
func Spawn(fn func() error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("the check ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			result <- err
		}()
		err = fn()
	}()
	return result
}

// All waits for what was spawned.
func All(running []<-chan error) error {
	var errs []error
	for _, r := range running {
		errs = append(errs, <-r)
	}
	return errors.Join(errs...)
}
