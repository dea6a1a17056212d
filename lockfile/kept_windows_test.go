package lockfile_test

import (
	"os"
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
