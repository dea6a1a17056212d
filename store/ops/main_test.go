package ops_test

import (
	"context"
	"testing"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

func TestMain(m *testing.M) { probetest.Run(m) }

var ctx = context.Background()

func noError(t probetest.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// givesUp opens a store once more, and returns a context that ends when a writer waits there.
func givesUp(t probetest.TB, dir string) (context.Context, *ops.Folder) {
	t.Helper()
	short, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	return short, open(t, dir, ops.Options{Lock: lockfile.Options{
		OnWaiting: func(lockfile.Inspection) { stop() }}})
}

func open(t probetest.TB, dir string, opts ops.Options) *ops.Folder {
	t.Helper()
	f, err := ops.Open(dir, opstest.Phases(), opts)
	noError(t, err)
	return f
}
