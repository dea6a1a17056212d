package ops_test

import (
	"context"
	"testing"

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

func open(t probetest.TB, dir string, opts ops.Options) *ops.Folder {
	t.Helper()
	f, err := ops.Open(dir, opstest.Phases(), opts)
	noError(t, err)
	return f
}
