// Package wholefile reads files that writers replace as a whole: without waiting for anybody, and
// without keeping a writer from replacing the file meanwhile.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

var (
	// ErrNotRegular is returned when a directory, FIFO or device stands at the path.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge is returned when the file has more bytes than the caller is ready to read.
	ErrTooLarge = errors.New("the file is too large")
)

// Read returns the content of the file at path, links followed, of at most limit bytes. It opens
// the file once: what it returns is one version, whatever is renamed over the path meanwhile.
// Errors are *fs.PathError.
func Read(path string, limit int64) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, path, limit)
}

func read(f *os.File, path string, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path,
			Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
	}
	return data, nil
}
