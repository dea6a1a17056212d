package lockfile_test

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/probate-dev/probate/probe/probetest"
)

// openShared opens a file as libuv does, and shares everything; package os does not share removal,
// so that it cannot open a record that its owner has open.
func openShared(path string, access uint32) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(p, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|
		windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

func readShared(path string) ([]byte, error) {
	f, err := openShared(path, windows.GENERIC_READ)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeShared overwrites an existing file in place, which must not get shorter.
func writeShared(path string, content []byte) error {
	f, err := openShared(path, windows.GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(content, 0)
	return err
}

// fewerOnWine is how often something is repeated: less under Wine, where every call to the system
// goes to another process.
func fewerOnWine(n int) int {
	if probetest.OnWine() {
		return (n + 5) / 6
	}
	return n
}

// notOnWine skips a test of what Wine does otherwise than Windows.
func notOnWine(t testing.TB, what string) {
	t.Helper()
	if probetest.OnWine() {
		t.Skip("Wine differs from Windows: ", what)
	}
}
