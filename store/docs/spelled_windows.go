package docs

import (
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// spelled returns the name under which a file that was found in dir really stands there: file
// systems here take Key and key for one.
func spelled(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	var data windows.Win32finddata
	h, err := windows.FindFirstFile(p, &data)
	if err == windows.ERROR_FILE_NOT_FOUND {
		return name, nil // removed meanwhile
	}
	if err != nil {
		return "", &fs.PathError{Op: "find", Path: path, Err: err}
	}
	defer windows.FindClose(h)
	return windows.UTF16ToString(data.FileName[:]), nil
}
