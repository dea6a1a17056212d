package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// A name is closed to everybody for a moment while it is replaced, or while a scanner looks at it.
const (
	tries = 50
	pause = 10 * time.Millisecond
)

// open shares everything, deletion included: os.Open would keep writers from replacing the file.
func open(path string) (*os.File, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(full)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	for try := 1; ; try++ {
		h, err := windows.CreateFile(name, windows.GENERIC_READ,
			windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
			windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return os.NewFile(uintptr(h), path), nil
		}
		passing := err == windows.ERROR_SHARING_VIOLATION || err == windows.ERROR_ACCESS_DENIED ||
			err == windows.ERROR_DELETE_PENDING
		if info, statErr := os.Stat(full); statErr == nil && info.IsDir() {
			return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
		}
		if !passing || try == tries {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		time.Sleep(pause)
	}
}
