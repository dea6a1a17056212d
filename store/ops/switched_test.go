package ops_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/probate-dev/probate/store/ops"
	"github.com/probate-dev/probate/store/ops/opstest"
)

// asked is a context that does something when it is asked for the nth time whether it has ended.
type asked struct {
	context.Context
	times int
	then  func()
}

func (a *asked) Err() error {
	if a.times--; a.times == 0 {
		a.then()
	}
	return a.Context.Err()
}

// The path of the folder is a link, which leads elsewhere at some moment of a change. What is
// changed is a folder whose lock was taken, or nothing.
func TestLinkSwitched(t *testing.T) {
	refused := 0
	for n := 1; n <= 8; n++ {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		for _, name := range []string{"one", "two"} {
			noError(t, os.Mkdir(at(name), 0o700))
		}
		if err := os.Symlink("one", at("current")); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		if info, err := os.Lstat(at("current")); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Skip("no symbolic links here")
		}
		store, err := ops.Open(at("current"), opstest.Phases(), ops.Options{})
		noError(t, err)
		ctx := &asked{t.Context(), n, func() {
			noError(t, os.Remove(at("current")))
			noError(t, os.Symlink("two", at("current")))
		}}
		_, _, err = store.Begin(ctx, ops.Request{ID: "request-4711",
			Environment: "production"})
		if err != nil {
			t.Log(err)
			refused++
		}
		changed := 0
		for _, name := range []string{"one", "two"} {
			locks, err := filepath.Glob(at(name) + "/*.fence")
			noError(t, err)
			entries, err := os.ReadDir(at(name))
			noError(t, err)
			if len(locks) == 0 && len(entries) > 0 {
				t.Errorf("%d: %s was changed without its lock: %v", n, name, entries)
			}
			if len(entries) > len(locks) {
				changed++
			}
		}
		if wanted := map[bool]int{true: 1}[err == nil]; changed != wanted {
			t.Errorf("%d: %d folders were changed: %v", n, changed, err)
		}
	}
	t.Log(refused, "of 8 were refused")
	if refused == 0 {
		t.Error("the link was never switched between opening and locking")
	}
}
