package lockfile_test

import (
	"errors"
	"strings"
	"syscall"

	"github.com/probate-dev/probate/lockfile"
	"github.com/probate-dev/probate/probe/probetest"
)

// failure checks that an error says what failed where, and nothing about anybody who holds the
// lock.
func failure(t probetest.TB, err error, kind lockfile.Kind, errno syscall.Errno, state string) {
	t.Helper()
	e, ok := errors.AsType[*lockfile.Error](err)
	if !ok || lockfile.KindOf(err) != kind || !errors.Is(err, errno) ||
		errors.Is(err, lockfile.ErrBusy) {
		t.Fatalf("%T, kind %s: %v; want kind %s", err, lockfile.KindOf(err), err, kind)
	}
	if e.Op == "" || e.Step == "" || e.Path != state {
		t.Fatalf("op %q, step %q, path %q", e.Op, e.Step, e.Path)
	}
	wantText(t, err.Error(), state, e.Step, errno.Error())
	if strings.Contains(err.Error(), "held") {
		t.Fatalf("%v: nobody holds anything", err)
	}
}
