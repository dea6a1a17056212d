package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// winHandle is a handle that cannot be used once it is closed.
type winHandle struct {
	mu sync.RWMutex
	h  windows.Handle
}

func (w *winHandle) use(fn func(h windows.Handle) error) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.h == windows.InvalidHandle {
		return os.ErrClosed
	}
	return fn(w.h)
}

// replace closes the handle and puts another one in its place, for which nobody else may use it.
func (w *winHandle) replace(open func() (windows.Handle, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.h == windows.InvalidHandle {
		return os.ErrClosed
	}
	windows.CloseHandle(w.h)
	var err error
	w.h, err = open()
	return err
}

func (w *winHandle) handle() uintptr {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return uintptr(w.h)
}

func (w *winHandle) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.h == windows.InvalidHandle {
		return os.ErrClosed
	}
	h := w.h
	w.h = windows.InvalidHandle
	return windows.CloseHandle(h)
}

// infoOf is what the system says about an open file.
//
// Device is the volume's serial number and Inode the file id, both from FILE_ID_INFO (64 and 128
// bits); where a server or filesystem does not know that, from BY_HANDLE_FILE_INFORMATION (32 and
// 64 bits), which says the same about NTFS. The 128 bits of an id that needs them (ReFS) are folded
// to 64.
func infoOf(h windows.Handle) (Info, error) {
	if t, err := windows.GetFileType(h); err != nil {
		return Info{}, err
	} else if t != windows.FILE_TYPE_DISK {
		return Info{Mode: fs.ModeDevice, UID: -1, GID: -1}, nil
	}
	var b windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &b); err != nil {
		return Info{}, err
	}
	mode := fs.FileMode(0o666)
	if b.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		mode = 0o444
	}
	switch {
	case b.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		mode |= fs.ModeSymlink // or a mount point, or a placeholder: no plain file
	case b.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		mode |= fs.ModeDir
	case b.FileAttributes&windows.FILE_ATTRIBUTE_DEVICE != 0:
		mode |= fs.ModeDevice
	}
	in := Info{
		Device: uint64(b.VolumeSerialNumber),
		Inode:  uint64(b.FileIndexHigh)<<32 | uint64(b.FileIndexLow),
		Mode:   mode,
		Size:   int64(b.FileSizeHigh)<<32 | int64(b.FileSizeLow),
		Links:  uint64(b.NumberOfLinks),
		UID:    -1,
		GID:    -1,

		ModTime: time.Unix(0, b.LastWriteTime.Nanoseconds()),
	}
	var id fileIDInfo
	err := windows.GetFileInformationByHandleEx(h, windows.FileIdInfo, (*byte)(unsafe.Pointer(&id)),
		uint32(unsafe.Sizeof(id)))
	if err == nil {
		in.Device, in.Inode = id.volume, foldFileID(id.low, id.high)
	}
	return in, nil
}

// fileIDInfo is FILE_ID_INFO.
type fileIDInfo struct{ volume, low, high uint64 }

// foldFileID keeps the ids of filesystems that use 64 bits as they are. FNV-1a by words for others.
func foldFileID(low, high uint64) uint64 {
	if high == 0 {
		return low
	}
	const offset, prime = 14695981039346656037, 1099511628211
	return ((offset^low)*prime ^ high) * prime
}

// verbatim is the form of an absolute path that the system takes as it stands, however long it is
// and whatever device its elements are called like.
func verbatim(path string) (string, error) {
	if strings.HasPrefix(path, `\\?\`) || strings.HasPrefix(path, `\\.\`) {
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(path, `\\`); ok {
		return `\\?\UNC\` + rest, nil
	}
	return `\\?\` + path, nil
}
