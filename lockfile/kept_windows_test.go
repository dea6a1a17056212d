package lockfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/lockfile"
)

// The system keeps a record for its owner: nobody else renames, replaces or removes it, with
// whatever call, and the owner does not notice the attempt.
func TestRecordIsKept(t *testing.T) {
	state := newState(t)
	lock := tryAcquire(t, state, lockfile.Options{})
	record, other := state+".lock", state+".lock.recovering.00112233445566ff"
	for how, err := range map[string]error{
		"remove":       os.Remove(record),
		"rename":       os.Rename(record, other),
		"replace":      replace(record, "{}"),
		"posix remove": posixRemove(record),
		"truncate":     os.Truncate(record, 0),
	} {
		if err == nil {
			t.Errorf("%s worked", how)
		}
	}
	noError(t, os.Remove(record+".new"))
	noError(t, lock.Check())
	noError(t, lock.WriteFile(state, []byte("text"), 0o600))
	if text := content(t, state); text != "text" {
		t.Errorf("the state is %q", text)
	}
	noError(t, lock.Release())
	noLeftovers(t, state)
}

// posixRemove is what newer programs do: open with all sharing, and remove with POSIX semantics.
func posixRemove(path string) error {
	f, err := openShared(path, windows.DELETE)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS)
	return windows.SetFileInformationByHandle(windows.Handle(f.Fd()), windows.FileDispositionInfoEx,
		(*byte)(unsafe.Pointer(&flags)), uint32(unsafe.Sizeof(flags)))
}

// No spelling of a name lets a holder replace the files of the lock itself.
func TestOwnFilesByAnyName(t *testing.T) {
	state := newState(t)
	abandon(t, state)
	lock := tryAcquire(t, state, lockfile.Options{})
	dir, base := filepath.Split(state)
	for _, suffix := range []string{".lock", ".fence", ".recovery.log", ".recovery.log.1",
		".recovered-" + strings.Repeat("0", 24), ".lock.broken-x"} {
		for _, name := range []string{base + suffix, strings.ToUpper(base + suffix),
			strings.ToUpper(base) + suffix} {
			err := lock.WriteFile(dir+name, []byte("text"), 0o600)
			if err == nil || !strings.Contains(err.Error(), "a file of the lock itself") {
				t.Errorf("%s: %v", name, err)
			}
			if err := lock.WriteFileKeeping(state, name, []byte("text"), 0o600); err == nil {
				t.Errorf("the state was kept as %s", name)
			}
		}
	}
	// A second name, as a short one is.
	noError(t, os.Link(state+".fence", dir+"STATE~1.FEN"))
	err := lock.WriteFile(dir+"state~1.fen", []byte("text"), 0o600)
	if err == nil || !strings.Contains(err.Error(), "a file of the lock itself") {
		t.Errorf("by another name: %v", err)
	}
	noError(t, lock.WriteFile(state, []byte("text"), 0o600))
	if err := lock.WriteFileKeeping(state, strings.ToUpper(base), nil, 0o600); err == nil {
		t.Error("the state was kept as itself")
	}
	noError(t, lock.Release())
}
