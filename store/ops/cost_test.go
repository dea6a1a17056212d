package ops_test

import (
	"fmt"
	"testing"

	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/internal/crash/crashtest"
	"github.com/probate-dev/probate/store/ops"
)

// costs returns how many system calls about files each of some verbs takes in a store that has so
// many finished operations.
func costs(t probetest.TB, dir string, finished int) map[string]int {
	t.Helper()
	s := open(t, dir, ops.Options{})
	noError(t, s.Fabricate(finished, finished/2))
	child := start(t, dir)
	child.Send("begin warm warm")
	child.Expect("ok")
	child.Send("calls all")
	got := map[string]int{}
	for _, verb := range []string{"begin r e", "begin r e", "begin x e", "swap r applying", "own r d",
		"accept r n", "swap r applied", "begin s e"} {
		calls, said := 0, ""
		_, err := fmt.Sscanf(child.Ask(verb), "%d calls, %s", &calls, &said)
		noError(t, err)
		if calls < 5 {
			t.Fatalf("%s: %d calls", verb, calls)
		}
		for got[verb] != 0 {
			verb += " again"
		}
		got[verb] = calls
	}
	child.Close()
	return got
}

// What a change costs does not depend on how many operations have finished before.
func TestCostDoesNotGrow(t *testing.T) {
	if !crashtest.Supported {
		t.Skip("system calls can be counted on Linux only, amd64 and arm64")
	}
	few, many := costs(t, t.TempDir(), 10), costs(t, t.TempDir(), 1500)
	for verb, n := range few {
		// A retry, or a thread that was interrupted, may cost a few more; a listing costs hundreds.
		if many[verb] > n+n/4+5 {
			t.Errorf("%s: %d calls beside 10 finished operations, %d beside 1500", verb, n, many[verb])
		}
	}
	t.Log(few)
}

// BenchmarkBegin counts the system calls about files of one Begin, and times it, with 10, 1000 and
// 100 000 finished operations in the store, half of them archived.
func BenchmarkBegin(b *testing.B) {
	for _, finished := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint("finished=", finished), func(b *testing.B) {
			dir := b.TempDir()
			s := open(b, dir, ops.Options{})
			noError(b, s.Fabricate(finished, finished/2))
			calls, n := 0, 0
			b.ResetTimer()
			for b.Loop() {
				n++
				_, _, err := s.Begin(ctx, ops.Request{ID: fmt.Sprint("new ", n),
					Environment: fmt.Sprint("new ", n)})
				noError(b, err)
			}
			b.StopTimer()
			if crashtest.Supported {
				child := start(b, dir)
				child.Send("begin warm warm")
				child.Expect("ok")
				child.Send("calls all")
				_, err := fmt.Sscanf(child.Ask("begin counted counted"), "%d calls", &calls)
				noError(b, err)
				child.Close()
				b.ReportMetric(float64(calls), "calls/op")
			}
		})
	}
}
