package lockfile

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Every errand runs once, after its time, and those that are stopped at most once; with the last
// one the timer ends.
func TestErrandsRun(t *testing.T) {
	e := &errands{after: 2 * time.Millisecond}
	var done sync.WaitGroup
	var runs [300]atomic.Int32
	for i := range runs {
		began := time.Now()
		kept := i%3 != 0
		if kept {
			done.Add(1)
		}
		stop := e.add(func() {
			runs[i].Add(1)
			if time.Since(began) < e.after {
				t.Errorf("%d ran too early", i)
			}
			if kept {
				done.Done()
			}
		})
		if !kept {
			stop()
			stop()
		}
	}
	done.Wait()
	for i := range runs {
		if n := runs[i].Load(); n > 1 || i%3 != 0 && n != 1 {
			t.Errorf("%d ran %d times", i, n)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first != nil || e.last != nil {
		t.Error("something is left")
	}
}

// What is stopped is out of the list, wherever it stood.
func TestErrandsStop(t *testing.T) {
	e := &errands{after: time.Hour}
	never := func() { t.Error("it ran") }
	var stops []func()
	for range 5 {
		stops = append(stops, e.add(never))
	}
	for _, i := range []int{2, 4, 0, 1, 3} {
		stops[i]()
	}
	if e.first != nil || e.last != nil {
		t.Error("something is left")
	}
	for range spareRuns { // its time has come, again and again
		if e.run(); !e.running {
			t.Error("the timer stops too early")
		}
	}
	if e.run(); e.running {
		t.Error("the timer runs on for nothing")
	}
}
