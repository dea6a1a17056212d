package lockfile_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/probate-dev/probate/lockfile"
)

// A name that leaves no room for the names beside it is refused before anything is touched.
func TestNameTooLong(t *testing.T) {
	const longest = 220
	dir := t.TempDir()
	for _, n := range []int{longest, longest + 1, 230, 250, 255, 256, 300, 5000} {
		state := filepath.Join(dir, strings.Repeat("n", n))
		lock, err := lockfile.TryAcquire(state, lockfile.Options{})
		if n <= longest {
			noError(t, err)
			noError(t, lock.WriteFile(state, []byte("fits"), 0o600))
			id := lock.ID()
			_, err := lockfile.Break(context.Background(), state, lockfile.BreakRequest{LockID: id,
				Reason: "the longest names of all", EvenIfAlive: true}, lockfile.Options{})
			noError(t, err)
			wantError(t, lock.Release(), lockfile.ErrFenced)
			noLeftovers(t, state)
			for _, suffix := range []string{"", ".fence", ".recovery.log"} {
				noError(t, os.Remove(state+suffix))
			}
			markers, err := filepath.Glob(state + ".recovered-*")
			noError(t, err)
			for _, m := range markers {
				noError(t, os.Remove(m))
			}
			continue
		}
		if lock != nil || lockfile.KindOf(err) != lockfile.KindNameTooLong {
			t.Fatalf("%d bytes: %v, kind %s", n, err, lockfile.KindOf(err))
		}
		wantText(t, err.Error(), state, "shorter name")
		_, err = lockfile.Inspect(state, lockfile.Options{})
		if lockfile.KindOf(err) != lockfile.KindNameTooLong {
			t.Errorf("inspect: %d bytes: %v", n, err)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
			t.Fatalf("%d bytes: %v, %v", n, names, err)
		}
	}
}

// A directory that is not there, or is none.
func TestNoDirectory(t *testing.T) {
	notDirectory := lockfile.KindIO
	if runtime.GOOS == "windows" { // one error for both
		notDirectory = lockfile.KindNotFound
	}
	dir := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for state, c := range map[string]struct {
		kind  lockfile.Kind
		errno syscall.Errno
		next  string
	}{
		"missing/state": {lockfile.KindNotFound, syscall.ENOENT, "create the directory first"},
		"file/state":    {notDirectory, syscall.ENOTDIR, ""},
	} {
		state = filepath.Join(dir, state)
		_, err := lockfile.TryAcquire(state, lockfile.Options{})
		failure(t, err, c.kind, c.errno, state)
		wantText(t, err.Error(), c.next)
	}
}
